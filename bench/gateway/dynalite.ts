/** The embedded DynamoDB and Secrets Manager of the local run, as a process. */
import { startEmbeddedDynamo } from '../../local/embedded-dynamo.ts';
import { startEmbeddedSecrets } from '../../local/embedded-secrets.ts';

const { endpoint } = await startEmbeddedDynamo();
const secrets = await startEmbeddedSecrets({ upstreams: '{"bench":"upstream"}' });
process.send?.({ dynamo: endpoint, secrets: secrets.endpoint });
