// A stand-in for Stellate: its purging API (see purging.mjs) with nothing behind it.

import { purging } from './purging.mjs'
import { serve } from './serve.mjs'

serve(purging())
