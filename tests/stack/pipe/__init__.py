"""The project's own local EventBridge Pipe: DynamoDB stream to SQS.

The emulator keeps a Pipe into SQS as a record and moves nothing, so this package runs the deployed template's own
`AWS::Pipes::Pipe`. It is strict: what AWS refuses it refuses, and what nobody has seen AWS do it refuses too, rather
than guess in the template's favour. Where AWS is known to take several answers as possible, the worst is chosen.

- `pattern`    filter patterns
- `paths`      `$.a.b` paths and the input template
- `definition` the resource's properties, checked
- `intrinsics` Ref, Fn::GetAtt and the others, resolved against the deployed stack
- `delivery`   batch, retry, record age, bisect, dead letters; no AWS client in it
- `role`       the trust policy, and credentials of the Pipe's own role
- `service`    the process: reads the stream, delivers, writes the log
"""
