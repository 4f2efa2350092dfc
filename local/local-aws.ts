/** What AWS clients want to know before they talk to a stand-in, which checks none of it. */
export const LOCAL_AWS = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
};
