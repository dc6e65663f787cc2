// GET ?since=N → {"renders": [{seq, at, slug, cause, found, count}]}: what was rendered after number N.
import { renders } from '../../lib/renders'

export default function handler(req, res) {
  res.setHeader('Cache-Control', 'no-store')
  res.status(200).json({ renders: renders(Number(req.query.since ?? 0)) })
}
