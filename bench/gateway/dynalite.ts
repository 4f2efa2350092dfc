/** The embedded DynamoDB and Secrets Manager of the local run, as a process. */

import { startEmbeddedDynamo } from '../../test/support/embedded-dynamo.ts';
import { startEmbeddedSecrets } from '../../test/support/embedded-secrets.ts';

const { endpoint } = await startEmbeddedDynamo();
const secrets = await startEmbeddedSecrets({ upstreams: '{"bench":"upstream"}' });
process.send?.({ dynamo: endpoint, secrets: secrets.endpoint });
