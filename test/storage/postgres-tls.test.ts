// Connections to a database on another machine: with a password, over TLS, with the certificate verified.

import { expect, test } from 'bun:test';
import { chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChangeFeed, PostgresGate, prepareDatabase } from '../../src/storage/postgres/postgres.ts';
import { makeCertificate } from '../support/make-certificate.ts';
import { cannotStartPostgres, runOn, startPostgres } from '../support/start-postgres.ts';

const PASSWORD = 'p@ss/wörd:%?';
const LEASE = { kind: 'renew', node: 'node-1', epoch: null, leaseMs: 1_000 } as const;

test.skipIf(cannotStartPostgres)(
  'a database that requires a password and TLS is used with both, and its certificate is verified as configured',
  async () => {
    const server = await startPostgres();
    try {
      const certificate = await demandTls(server.url);
      const urlOf = (query: string) =>
        `postgres://app:${encodeURIComponent(PASSWORD)}@localhost:${server.port}/app${query}`;
      await expect(prepareDatabase(urlOf('?sslmode=disable'))).rejects.toThrow();
      await expect(prepareDatabase(urlOf('?sslmode=verify-full'))).rejects.toThrow();
      for (const query of ['?sslmode=require', `?sslmode=verify-full&sslrootcert=${certificate}`]) {
        await prepareDatabase(urlOf(query));
        const gate = new PostgresGate(urlOf(query));
        expect(await gate.submit({ operations: [LEASE] })).toMatchObject([{ ok: true, kind: 'lease' }]);
        const feed = new ChangeFeed(urlOf(query));
        expect(await feed.readEpoch()).toBeNumber();
        const sessions = `SELECT count(*) >= 2 AS are_there, bool_and(s.ssl) AS ssl FROM pg_stat_activity a
        JOIN pg_stat_ssl s USING (pid) WHERE a.usename = 'app'`;
        expect(await runOn(server.url, sessions)).toEqual([{ are_there: true, ssl: true }]);
        await gate.close();
        await feed.close();
      }
    } finally {
      await server.remove();
    }
  },
);

/** Returns the path of the server's self-signed certificate. */
async function demandTls(url: string): Promise<string> {
  const [row] = await runOn(url, 'SHOW data_directory');
  const data = String(row?.['data_directory']);
  const { uid, gid } = statSync(data);
  const { certificate, key } = makeCertificate('localhost');
  for (const [name, text] of [
    ['server.crt', certificate],
    ['server.key', key],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    chownSync(join(data, name), uid, gid);
  }
  await runOn(url, `CREATE ROLE app LOGIN PASSWORD '${PASSWORD}'`);
  await runOn(url, 'CREATE DATABASE app OWNER app');
  await runOn(url, 'ALTER SYSTEM SET ssl = on');
  const trusted = 'host all turnpike 127.0.0.1/32 trust';
  writeFileSync(join(data, 'pg_hba.conf'), `hostssl all app 127.0.0.1/32 scram-sha-256\n${trusted}\n`);
  await runOn(url, 'SELECT pg_reload_conf()');
  await Bun.sleep(500); // Waits until it applies.
  return join(data, 'server.crt');
}
