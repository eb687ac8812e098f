// The file by which commands on this machine find the running service and its local operator token.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Listening } from './listen.ts';

const OPERATOR_FILE = 'operator.json';

/**
 * The address is that of the admin API. Beside it and the token it says what the doctor cannot see from outside: where the
 * service listens, as which process.
 */
export function writeOperatorFile(
  config: Config,
  { url, adminUrl }: Pick<Listening, 'url' | 'adminUrl'>,
  token: string,
): void {
  const path = join(config.dataDirectory, OPERATOR_FILE);
  rmSync(path, { force: true });
  const listen = url.replace(/^\w+:\/\//, '');
  const text = JSON.stringify({ url: localUrl(adminUrl()), token, listen, pid: process.pid });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
}

export function removeOperatorFile(config: Config): void {
  rmSync(join(config.dataDirectory, OPERATOR_FILE), { force: true });
}

/** The address by which this machine reaches a service that listens on all of its addresses. */
export function localUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
