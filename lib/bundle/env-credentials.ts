/**
 * Stands in for the SDK's credential chain inside the bundle. Lambda puts the role's credentials into
 * the environment, so SSO, profiles, web identity and the metadata services would be 132 KB and 11 ms
 * of CPU in every cold start, for nothing. Only the bundler knows of this file: outside Lambda the real chain runs.
 */
type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/** The SDK's own name for its default chain. @throws Error when the environment has no credentials. */
export const defaultProvider = () => async (): Promise<Credentials> => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    throw new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in the environment.');
  }
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
  };
};
