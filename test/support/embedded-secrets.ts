import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import * as z from 'zod';
import { listen } from '../../local/loopback.ts';

export type EmbeddedSecrets = { endpoint: string; close(): Promise<void> };

const Input = z.object({
  SecretId: z.string().optional(),
  Name: z.string().optional(),
  SecretString: z.string().default(''),
});
type Input = z.infer<typeof Input>;

type Secret = { ARN: string; Name: string; VersionId: string; SecretString: string };
type Output = { status: number; body: Record<string, unknown> };

const ARN_PREFIX = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:';
const TARGET_PREFIX = 'secretsmanager.';

const failure = (type: string, message: string): Output => ({
  status: 400,
  body: { __type: type, Message: message },
});

const createVault = (initial: Record<string, string>) => {
  const secrets = new Map<string, Secret>();
  let versions = 0;

  const put = (name: string, SecretString: string): Secret => {
    versions += 1;
    const VersionId = String(versions).padStart(32, '0');
    const secret = { ARN: `${ARN_PREFIX}${name}`, Name: name, VersionId, SecretString };
    secrets.set(name, secret);
    return secret;
  };

  for (const [name, value] of Object.entries(initial)) put(name, value);

  const withSecret = (id: string | undefined, use: (secret: Secret) => object): Output => {
    const secret = secrets.get(id?.replace(ARN_PREFIX, '') ?? '');
    return secret
      ? { status: 200, body: { ...use(secret) } }
      : failure('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
  };

  const actions: Record<string, (input: Input) => Output> = {
    CreateSecret: ({ Name = '', SecretString }) => {
      if (secrets.has(Name))
        return failure('ResourceExistsException', 'The secret already exists.');
      const { ARN, VersionId } = put(Name, SecretString);
      return { status: 200, body: { ARN, Name, VersionId } };
    },
    PutSecretValue: ({ SecretId, SecretString }) =>
      withSecret(SecretId, ({ Name }) => {
        const { ARN, VersionId } = put(Name, SecretString);
        return { ARN, Name, VersionId, VersionStages: ['AWSCURRENT'] };
      }),
    GetSecretValue: ({ SecretId }) =>
      withSecret(SecretId, (secret) => ({ ...secret, VersionStages: ['AWSCURRENT'] })),
    DescribeSecret: ({ SecretId }) =>
      withSecret(SecretId, ({ ARN, Name, VersionId }) => ({
        ARN,
        Name,
        VersionIdsToStages: { [VersionId]: ['AWSCURRENT'] },
      })),
  };

  return async (incoming: IncomingMessage): Promise<Output> => {
    const target = String(incoming.headers['x-amz-target']).replace(TARGET_PREFIX, '');
    const action = actions[target];
    if (!action) return failure('UnknownOperationException', `Unsupported action: ${target}.`);
    const input = Input.safeParse(await json(incoming));
    return input.success ? action(input.data) : failure('ValidationException', 'Invalid input.');
  };
};

/**
 * Starts an in-memory Secrets Manager with the four actions that the router and its operators use.
 * `initial` holds the first secret strings by name.
 */
export const startEmbeddedSecrets = async (
  initial: Record<string, string>,
): Promise<EmbeddedSecrets> => {
  const handle = createVault(initial);
  const reply = (response: ServerResponse, { status, body }: Output) =>
    response
      .writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
      .end(JSON.stringify(body));
  const server = createServer((incoming, response) => {
    handle(incoming).then(
      (output) => reply(response, output),
      () => reply(response, failure('SerializationException', 'The body must be JSON.')),
    );
  });
  const { url, close } = await listen(server);
  return { endpoint: url, close };
};
