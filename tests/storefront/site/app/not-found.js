import { Missing } from '../components/Missing'

export default Missing
