/** The embedded DynamoDB and Secrets Manager of the local run, as a process. */

import { startEmbeddedSecrets } from '../../local/embedded-secrets.ts';
import { startEmbeddedDynamo } from '../../test/support/embedded-dynamo.ts';

const { endpoint } = await startEmbeddedDynamo();
const secrets = await startEmbeddedSecrets({ upstreams: '{"bench":"upstream"}' });
process.send?.({ dynamo: endpoint, secrets: secrets.endpoint });
