// Signs requests to a service of AWS in the provider's region. Keys of Bedrock's own are sent as they are.

import type { Api } from '../http-api.ts';
import { signRequest } from '../sign-request.ts';

export function signAs(service: string): NonNullable<Api['sign']> {
  return async (request, { credential, region }) =>
    credential?.use === 'aws'
      ? signRequest(request, { credential, service, region: region ?? '', now: new Date() })
      : request.headers;
}
