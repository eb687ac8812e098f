// Follows docs/operating.md on machines without anything, as it is written: from `npm start` over a service of one machine to three
// nodes on PostgreSQL behind HAProxy, with a backup, a restore and an upgrade of either.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_PASSWORD, type MachineName, type Machines, startMachines } from '../../support/machines.ts';
import { readBlocks } from '../../support/read-blocks.ts';
import { findBalancer } from '../../support/start-balancer.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';

const RUN_MS_MAX = 300_000;
const KILL_AGAIN_SECONDS = 60; // npm has lost a signal once
const SPREAD_MAX = 200;
const SPREAD_MS = 100;
const PRICE = 132n; // cost of the page's message, in units of 0.0000001 USD
const CREDIT = 100_000_000n;
const READY = 'curl -s --retry 60 --retry-delay 1 --retry-connrefused http://127.0.0.1:8080/readyz';

const nodes = ['node-1', 'node-2', 'node-3'] as const;

/** Sections of "Many nodes" that are not followed, each with its reason. All others are, in the order of the page. */
const notFollowed: Readonly<Record<string, string>> = {
  'One executable': 'needs a release; test/verify/build/executable.test.ts runs one',
  'Roles of the database': 'another way to make the database; test/contract/commands/migrate.test.ts runs its commands',
};

/** Chapters of the first machine, whose `sh` blocks run in one shell. */
const chaptersOfOne = ['Install', 'The first hour', 'Backup and restore', 'Upgrade'];

describe.skipIf(cannotStartPostgres || findBalancer('haproxy') === null)('the journey of docs/operating.md', () => {
  let machines: Machines;
  let key: string;
  let account: string;
  let sent = 0;
  /** Output by section, or by step. */
  const printed: Record<string, string> = {};
  /** As shown, and as computed from the messages sent. */
  const balances: Record<'service' | 'moved' | 'upgraded', string[]> = { service: [], moved: [], upgraded: [] };
  /** Rows of the nodes' database, then of the restored one. */
  let books: string[] = [];

  const readPage = () => readFileSync(join(machines.checkout, 'docs/operating.md'), 'utf8');

  const blocksUnder = (heading: string, language: string) =>
    readBlocks(readPage()).filter((block) => block.heading === heading && block.language === language);

  /** Runs the blocks of a section; those of an upgrade, which is of one node after the other, on each node. */
  const followSection = async (section: string) => {
    const machine = section === 'The database' ? 'database' : 'node-1';
    const input = section === 'The database' ? `${DATABASE_PASSWORD}\n`.repeat(2) : '';
    printed[section] = '';
    for (const node of section === 'A rolling upgrade' ? nodes : nodes.slice(0, 1))
      for (const block of blocksUnder('Many nodes', 'console'))
        if (block.section === section)
          printed[section] += await machines.follow(block.code.replaceAll(/^node-1#/gm, `${node}#`), machine, input);
  };

  /** Sends the page's message, with the key of its account. */
  const send = async (machine: MachineName) => {
    const response = await fetch(`${machines.urlOf(machine)}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(response.status).toBe(200);
    sent++;
  };

  /** Also through a node that has just started. */
  const readBalance = async (machine: MachineName) => {
    await machines.run(machine, READY);
    const shown = await machines.run(machine, `turnpike account show ${account} --json --data /var/lib/turnpike`);
    return (JSON.parse(shown) as { balance: string }).balance;
  };

  const expectedBalance = () => {
    const units = CREDIT - BigInt(sent) * PRICE;
    return `${units / 10_000_000n}.${String(units % 10_000_000n).padStart(7, '0')}`.replace(/0+$/, '');
  };

  /** Sends messages through the load balancer until each node has answered one. */
  const sendToEach = async () => {
    for (let count = 0; count < SPREAD_MAX; count++) {
      if (nodes.every((node) => machines.readJournal(node).includes('"event":"message"'))) return;
      await send('balancer');
      await Bun.sleep(SPREAD_MS);
    }
    throw new Error('the load balancer does not use every node');
  };

  /** Reads the rows of a database that hold the money. */
  const readBooks = (database: string) =>
    machines.run(
      'database',
      `runuser -u postgres -- psql -qAtX -d ${database} -c 'TABLE entries ORDER BY 1' -c 'TABLE account_meters ORDER BY 1'`,
    );

  /** The SQLite part: tried out in the foreground, then the page's blocks, then a service that keeps the data. */
  const startOne = async () => {
    const [firstMessage] = readBlocks(readFileSync(join(machines.checkout, 'README.md'), 'utf8'))
      .filter(({ code }) => code.startsWith('curl '))
      .map(({ code }) => code);
    printed['npm start'] = await machines.run(
      'node-1',
      `npm start -- --listen 127.0.0.1:8080 >start.log & STARTED=$!
${READY}
KEY=$(grep -o 'sk-tp-[A-Za-z0-9]*' data/first-key.txt | head -n 1)
${firstMessage}
kill "$STARTED"
(sleep ${KILL_AGAIN_SECONDS}; kill "$STARTED" || :) >/dev/null 2>&1 &
wait "$STARTED"`,
    );
    const blocks = readBlocks(readPage()).filter(
      ({ heading, language }) => chaptersOfOne.includes(heading) && language === 'sh',
    );
    printed['one shell'] = await machines.run(
      'node-1',
      [...blocks.map(({ code }) => code), 'stop_turnpike', 'echo "ACCOUNT=$ACCOUNT KEY=$KEY"'].join('\n'),
    );
    [, account = '', key = ''] = /ACCOUNT=(\S+) KEY=(\S+)/.exec(printed['one shell']) ?? [];
    sent++;
    for (const { code } of blocksUnder('As a service of the machine', 'console')) await machines.follow(code, 'node-1');
    await machines.run('node-1', READY);
  };

  const installAnother = async (machine: MachineName) => {
    await machines.follow(blocksUnder('As a service of the machine', 'console')[0]?.code ?? '', machine);
  };

  /** Installs the nodes that the page leaves to its reader, before a section. */
  const before: Readonly<Record<string, () => Promise<void>>> = {
    'The nodes': () => installAnother('node-2'),
    'Another node': () => installAnother('node-3'),
  };

  /** Sends messages and reads the books after a section. */
  const after: Readonly<Record<string, () => Promise<void>>> = {
    async 'The nodes'() {
      balances.moved = [await readBalance('node-1'), expectedBalance()];
    },
    'Another node': sendToEach,
    async 'A rolling upgrade'() {
      await send('balancer');
      balances.upgraded = [await readBalance('node-3'), expectedBalance()];
      printed['check'] = await machines.run('node-1', '(set -a; . /etc/turnpike/environment; turnpike check)');
    },
    async 'Backup of many nodes'() {
      books = [await readBooks('turnpike'), await readBooks('restored')];
    },
  };

  beforeAll(async () => {
    machines = await startMachines();
    await startOne();
    balances.service = [await readBalance('node-1'), expectedBalance()];
    const sections = new Set(blocksUnder('Many nodes', 'console').map(({ section }) => section));
    for (const section of sections) {
      if (section in notFollowed) continue;
      await before[section]?.();
      await followSection(section);
      await after[section]?.();
    }
  }, RUN_MS_MAX);
  afterAll(() => machines?.[Symbol.asyncDispose](), RUN_MS_MAX);

  test('`npm start` answers the first message, with the command of the README', () => {
    expect(printed['npm start']).toContain('"text":"Hello"');
  });

  test('the first hour, a backup with its restore, and an upgrade work on one machine', () => {
    expect(printed['one shell']).toContain('"text":"Hello"');
    expect(printed['one shell']?.match(/^OK +yes$/gm)).toHaveLength(3);
  });

  test('a service of the machine keeps the data of the first try', () => {
    expect(balances.service[0]).toBe(balances.service[1]);
  });

  test('the move to PostgreSQL keeps the balance', () => {
    expect(printed['Move from SQLite']).toMatch(/^LEDGER OK +yes$/m);
    expect(balances.moved[0]).toBe(balances.moved[1]);
  });

  test('the load balancer is ready, and three nodes behind it answer', () => {
    expect(printed['The load balancer']).toContain('{"status":"ready"}');
    expect(sent).toBeGreaterThan(nodes.length);
  });

  test('a restored dump has the same books, and passes the check', () => {
    expect(printed['Backup of many nodes']).toMatch(/^OK +yes$/m);
    expect(books[0]).toContain('|');
    expect(books[1]).toBe(books[0]);
  });

  test('after a restart of one node after the other, every message is billed once and the ledger is consistent', () => {
    expect(printed['A rolling upgrade']?.match(/"ready"/g)).toHaveLength(nodes.length);
    expect(balances.upgraded[0]).toBe(balances.upgraded[1]);
    expect(printed['check']).toMatch(/^OK +yes$/m);
  });
});
