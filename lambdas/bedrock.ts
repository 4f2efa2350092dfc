/** CONTRACT with lib/: what an address of Amazon Bedrock is the endpoint of. */
export type BedrockEndpoint = {
  /** Name in the scope of signatures and in the actions of a policy. */
  service: 'bedrock' | 'bedrock-mantle';
  region: string;
};

const HOST =
  /^bedrock-(?<name>mantle|runtime(?:-fips)?)\.(?<region>[a-z]{2,8}(?:-[a-z\d]{1,12}){1,4})\.(?:api\.aws|amazonaws\.(?:com|com\.cn|eu))$/;

/** Returns undefined for an address that is not one of Amazon Bedrock. */
export const readBedrockAddress = (baseUrl: string): BedrockEndpoint | undefined => {
  const { name, region } = HOST.exec(new URL(baseUrl).hostname)?.groups ?? {};
  if (name === undefined || region === undefined) return undefined;
  return { service: name === 'mantle' ? 'bedrock-mantle' : 'bedrock', region };
};
