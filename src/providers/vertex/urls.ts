// Addresses of Vertex AI.

import type { ProviderEndpoint } from '../provider.ts';

/** The address of a model's method in the provider's project and region. */
export function modelUrl(endpoint: ProviderEndpoint, publisher: string, upstreamModel: string, method: string): string {
  const model = encodeURIComponent(plainModel(upstreamModel)).replaceAll('%40', '@');
  return `${placeUrl(endpoint)}/publishers/${publisher}/models/${model}:${method}`;
}

/** The address of the provider's project and region; the base may have its version. */
export function placeUrl({ baseUrl, project, region }: ProviderEndpoint): string {
  const base = baseUrl.replace(/\/+$/, '');
  const root = /\/v\d+[a-z0-9]*$/.test(base) ? base : `${base}/v1`;
  return `${root}/projects/${encodeURIComponent(project ?? '')}/locations/${encodeURIComponent(region ?? '')}`;
}

/** The name without its publisher. */
export function plainModel(upstreamModel: string): string {
  return upstreamModel.replace(/^.*\//, '');
}
