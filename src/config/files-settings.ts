// The place of files that clients upload, as config.ts reads it from the environment.

import { join } from 'node:path';

/** A directory, or a bucket of a store that speaks S3. */
export type FilesPlace =
  | { directory: string }
  | {
      endpoint: string;
      region: string;
      bucket: string;
      /** The beginning of the names of objects; empty: none. */
      prefix: string;
      accessKeyId: string;
      secretAccessKey: string;
    };

export const FILES = 'TURNPIKE_FILES';
const REGION = 'us-east-1';

/** A fault does not repeat the text, because it may contain a secret. */
export function readFilesPlace(text: string | null, fallback: string | null, faults: string[]): FilesPlace | null {
  if (text === null) return fallback === null ? null : { directory: join(fallback, 'files') };
  if (!/^[a-z\d]+:\/\//i.test(text)) return { directory: text };
  const place = readBucket(URL.parse(text));
  if (place === null)
    faults.push(
      `${FILES}: must be a directory, or https://ACCESS_KEY_ID:SECRET_ACCESS_KEY@HOST/BUCKET/PREFIX?region=REGION, in which the key and its secret are URL-encoded`,
    );
  return place;
}

function readBucket(url: URL | null): FilesPlace | null {
  if (url === null || !/^https?:$/.test(url.protocol) || url.username === '' || url.password === '') return null;
  if (url.hash !== '' || [...url.searchParams.keys()].some((name) => name !== 'region')) return null;
  const [bucket = '', ...prefix] = url.pathname.split('/').filter((part) => part !== '');
  if (bucket === '') return null;
  try {
    return {
      endpoint: url.origin,
      region: url.searchParams.get('region') ?? REGION,
      bucket,
      prefix: prefix.join('/'),
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
    };
  } catch {
    return null;
  }
}
