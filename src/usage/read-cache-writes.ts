// The dearest way in which a request asks for its prompt to be cached.

import { type MessageRequest, type RequestFeatures, readFeatures } from '../wire/wire.ts';

/** By its marks of cache_control, wherever the protocol lets them stand. */
export function readCacheWrites(request: Pick<MessageRequest, 'body'>): RequestFeatures['cacheControl'] {
  return readFeatures(request, null).cacheControl;
}
