// The file by which commands on this machine find the running service and its local operator token.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';

const OPERATOR_FILE = 'operator.json';

export function writeOperatorFile(config: Config, url: string, token: string): void {
  const path = join(config.dataDirectory, OPERATOR_FILE);
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify({ url: localUrl(url), token })}\n`, { mode: 0o600, flag: 'wx' });
}

export function removeOperatorFile(config: Config): void {
  rmSync(join(config.dataDirectory, OPERATOR_FILE), { force: true });
}

/** The address by which this machine reaches a service that listens on all of its addresses. */
export function localUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
