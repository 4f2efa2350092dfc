import type { AddressOf } from './spans.ts';

type Model = { targets: readonly { upstream: string; model: string; baseUrl: string }[] };

export const addressesIn = (models: readonly Model[]): AddressOf => {
  const addresses = new Map(
    models
      .flatMap(({ targets }) => targets)
      .map(({ upstream, model, baseUrl }) => {
        const { hostname, port, protocol } = new URL(baseUrl);
        const usual = protocol === 'https:' ? 443 : 80;
        return [`${upstream}/${model}`, { host: hostname, port: Number(port) || usual }];
      }),
  );
  return (upstream, model) => addresses.get(`${upstream}/${model}`);
};
