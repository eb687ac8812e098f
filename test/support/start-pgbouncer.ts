// Starts PgBouncer in front of a PostgreSQL server of the tests. It ends with the process that started it.

import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'bun';
import { freePort } from './free-port.ts';
import { runOn } from './start-postgres.ts';

const program = Bun.which('pgbouncer', { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` });

/** Its tests are skipped where it is not installed; under CI a skipped test is a failure. */
export const cannotStartPgbouncer = program === null;

export interface Pgbouncer extends AsyncDisposable {
  port: number;
}

/** In front of the server at `port`, with further settings such as pool_mode. */
export async function startPgbouncer(port: number, settings: Readonly<Record<string, string>>): Promise<Pgbouncer> {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-pgbouncer-'));
  const own = freePort();
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: String(own),
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(home, 'users'),
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  const files = {
    users: '"turnpike" ""\n',
    'pgbouncer.ini': `[databases]\n* = host=127.0.0.1 port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`,
  };
  const user = findUser();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
  if (user !== null)
    for (const path of [home, ...Object.keys(files).map((name) => join(home, name))]) chownSync(path, user, user);
  const who = user === null ? [] : [`--reuid=${user}`, '--clear-groups'];
  const child = spawn(['setpriv', '--pdeathsig=TERM', ...who, '--', program as string, join(home, 'pgbouncer.ini')], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: Bun.file(join(home, 'log')),
  });
  await waitUntilReady(own, () => readFileSync(join(home, 'log'), 'utf8'));
  return {
    port: own,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** It refuses to run as root, and then runs as "nobody". Null: the current user. */
function findUser(): number | null {
  if (process.getuid?.() !== 0) return null;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('nobody:'));
  return Number(line?.split(':')[2]);
}

async function waitUntilReady(port: number, readLog: () => string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      await runOn(`postgres://turnpike@127.0.0.1:${port}/postgres`, 'SELECT 1');
      return;
    } catch {
      await Bun.sleep(50);
    }
  }
  throw new Error(`PgBouncer did not start: ${readLog()}`);
}
