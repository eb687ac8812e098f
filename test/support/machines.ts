// Machines of docs/operating.md as directories on this one. Commands of the page run on them as written, except for the table of
// replacements below; stand-ins replace the programs that need root.

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { spawn, spawnSync } from 'bun';
import { rootDirectory } from '../check.ts';
import { freePort } from './free-port.ts';
import { makeCertificate } from './make-certificate.ts';
import { postgresPrograms, runOn, startPostgres, type TestPostgres } from './start-postgres.ts';

export type MachineName = 'node-1' | 'node-2' | 'node-3' | 'balancer' | 'database';

export interface Machines extends AsyncDisposable {
  /** A fresh clone of the last commit, which is /opt/turnpike on every machine. */
  checkout: string;
  /**
   * Runs a script in the checkout, as root of a machine, and returns what it printed to both outputs. Throws if it does not end with 0.
   * `input` is what a person types.
   */
  run(machine: MachineName, script: string, input?: string): Promise<string>;
  /** Runs a block with prompts such as `node-1#`. Lines with the prompt `#` run on `machine`. */
  follow(block: string, machine: MachineName, input?: string): Promise<string>;
  /** The log of a machine's service. */
  readJournal(machine: MachineName): string;
  /** Where messages are sent to. */
  urlOf(machine: MachineName): string;
}

interface Places {
  home: string;
  ports: Record<MachineName, number>;
  /** The directory with the database's socket. */
  socket: string;
}

const names: readonly MachineName[] = ['node-1', 'node-2', 'node-3', 'balancer', 'database'];
const JOURNAL_CHARACTERS_SHOWN = 1_000;

export const DATABASE_PASSWORD = 'a-password-of-the-database';

export async function startMachines(): Promise<Machines> {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-machines-'));
  // The pipe closes when this process ends, for whatever reason.
  const end = 'cat; kill -KILL $(cat "$0"/*/turnpike.pid); kill $(cat "$0"/*/haproxy.pid); rm -rf "$0"';
  const ending = spawn(['sh', '-c', end, home], { stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' });
  ending.unref();
  const postgres = await startPostgres();
  const dispose = async () => {
    ending.stdin.end();
    await ending.exited;
    await postgres.remove();
  };
  try {
    const ports = { database: postgres.port } as Record<MachineName, number>;
    for (const name of names) ports[name] ??= freePort();
    const places = { home, ports, socket: await likeDebians(postgres, home) };
    const checkout = cloneCheckout(places);
    for (const name of names) writeMachine(places, name, checkout);
    return { ...machinesOf(places, checkout), [Symbol.asyncDispose]: dispose };
  } catch (failure) {
    await dispose();
    throw failure;
  }
}

function machinesOf(places: Places, checkout: string): Omit<Machines, typeof Symbol.asyncDispose> {
  const { home, ports } = places;
  const readJournal = (machine: MachineName) => readFileSync(join(home, machine, 'journal'), 'utf8');
  const run = async (machine: MachineName, script: string, input = '') => {
    const directory = join(home, machine);
    const path = [
      join(directory, 'stand-ins'),
      join(directory, 'usr/local/bin'),
      postgresPrograms,
      '/usr/bin',
      '/bin',
      '/usr/sbin',
    ];
    const child = spawn(['sh', '-c', `set -e\nexec 2>&1\n${placed(script, places, machine)}`], {
      cwd: checkout,
      env: { PATH: path.join(delimiter), HOME: directory },
      stdin: Buffer.from(input),
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true, // without a terminal: a prompt reads the input
    });
    const printed = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) {
      endGroup(child.pid);
      const journals = names.filter((name) => existsSync(join(home, name, 'journal')));
      const ends = journals.map((name) => `journal of ${name}:\n${readJournal(name).slice(-JOURNAL_CHARACTERS_SHOWN)}`);
      throw new Error([`on ${machine}:`, script, 'printed:', printed, ...ends].join('\n'));
    }
    return printed;
  };
  return {
    checkout,
    run,
    async follow(block, machine, input) {
      let printed = '';
      for (const part of partsOf(block, machine)) printed += await run(part.machine, part.script, input);
      return printed;
    },
    readJournal,
    urlOf: (machine) => `http://127.0.0.1:${ports[machine]}`,
  };
}

/** Ends the services that a failed script left behind. Those of the service manager are in groups of their own. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // there is none
  }
}

/** The lines of a block, by the machine whose prompt they have; lines without a prompt belong to the one before. */
function partsOf(block: string, machine: MachineName): { machine: MachineName; script: string }[] {
  const parts: { machine: MachineName; script: string }[] = [];
  for (const line of block.trimEnd().split('\n')) {
    const [, name, command] = /^([a-z0-9-]*)# (.*)$/.exec(line) ?? [];
    const on = name === undefined ? parts.at(-1)?.machine : (names.find((one) => one === name) ?? machine);
    if (on === undefined) throw new Error(`a line without a prompt: ${line}`);
    const last = parts.at(-1);
    if (last?.machine === on) last.script += `\n${command ?? line}`;
    else parts.push({ machine: on, script: command ?? line });
  }
  return parts;
}

/** Replaces addresses, the beginnings of paths and the password, in a text of the page or of deploy/. */
function placed(text: string, { home, ports }: Places, machine: MachineName): string {
  const address = (name: MachineName) => `127.0.0.1:${ports[name]}`;
  const replacements: [RegExp, string][] = [
    [/(node-\d):(?=\/)/g, `${home}/$1`], // a file for scp
    [/(?<![\w.}-])\/(?=(?:etc|var|opt|usr\/local)\/)/g, `${home}/${machine}/`],
    ...names.map((name): [RegExp, string] => [new RegExp(`\\b${name}:(?:8080|5432)\\b`, 'g'), address(name)]),
    [/127\.0\.0\.1:8080/g, address(machine)],
    [/bind :8080/g, `bind ${address(machine)}`],
    [/10\.0\.0\.0\/24/g, '127.0.0.1/32'],
    [/10\.0\.0\.10/g, '127.0.0.1'],
    [/\bPASSWORD\b/g, DATABASE_PASSWORD],
  ];
  return replacements.reduce((replaced, [pattern, by]) => replaced.replace(pattern, by), text);
}

/** Dependencies are those of this checkout: a link is used as it is. */
function cloneCheckout(places: Places): string {
  const checkout = join(places.home, 'checkout');
  const cloned = spawnSync(['git', 'clone', '--quiet', rootDirectory, checkout]);
  if (cloned.exitCode !== 0) throw new Error(cloned.stderr.toString());
  symlinkSync(join(rootDirectory, 'node_modules'), join(checkout, 'node_modules'));
  const balancer = join(checkout, 'deploy/haproxy.cfg');
  const text = placed(readFileSync(balancer, 'utf8'), places, 'balancer');
  writeFileSync(balancer, text.replace(/^ {4}(?:user|group) .*\n/gm, '')); // it keeps the user of this process
  return checkout;
}

function writeMachine({ home, ports, socket }: Places, name: MachineName, checkout: string): void {
  const directory = join(home, name);
  const folders = [
    'etc/systemd/system',
    'etc/haproxy',
    'etc/postgresql/15/main/conf.d',
    'opt',
    'usr/local/bin',
    'var/lib',
  ];
  for (const folder of [...folders, 'var/backups', 'stand-ins'])
    mkdirSync(join(directory, folder), { recursive: true });
  symlinkSync(checkout, join(directory, 'opt/turnpike'));
  if (name === 'database')
    symlinkSync(join(home, 'pg_hba.conf'), join(directory, 'etc/postgresql/15/main/pg_hba.conf'));
  const standIns: Record<string, string> = {
    'apt-get': ':',
    useradd: ':',
    chown: ':',
    scp: 'exec cp "$@"',
    // runuser -u postgres -- PROGRAM …
    runuser: `shift 3; PGHOST='${socket}' PGPORT=${ports.database} PGUSER=postgres exec "$@"`,
    systemctl: serviceManager(directory, ports, name, socket),
  };
  for (const [program, script] of Object.entries(standIns)) {
    writeFileSync(join(directory, 'stand-ins', program), `#!/bin/sh\nset -eu\n${script}\n`);
    chmodSync(join(directory, 'stand-ins', program), 0o755);
  }
}

/** systemctl for the service, HAProxy and PostgreSQL. The service listens on the machine's address whatever the file says. */
function serviceManager(directory: string, ports: Places['ports'], name: MachineName, socket: string): string {
  return `
cd '${directory}'
stop() {
  pid=$(cat turnpike.pid)
  kill "$pid"
  while readlink "/proc/$pid/exe" >/dev/null; do sleep 0.1; done
}
start() {
  command=$(sed -n 's#^ExecStart=##p' etc/systemd/system/turnpike.service | sed 's#/\\(opt\\|var\\)/#${directory}/\\1/#g')
  mkdir -p -m 700 var/lib/turnpike
  set -a
  [ ! -e etc/turnpike/environment ] || . ./etc/turnpike/environment
  TURNPIKE_LISTEN=127.0.0.1:${ports[name]}
  setsid $command >>journal 2>&1 </dev/null &
  echo $! >turnpike.pid
}
case "$*" in
  daemon-reload) ;;
  'enable --now turnpike' | 'start turnpike') start ;;
  'stop turnpike') stop ;;
  'restart turnpike') stop; start ;;
  'restart haproxy')
    setsid haproxy -W -f etc/haproxy/haproxy.cfg -p haproxy.pid >>haproxy.log 2>&1 </dev/null &
    curl -s -o answer --retry 60 --retry-delay 1 --retry-connrefused http://127.0.0.1:${ports[name]}/healthz ;;
  'reload haproxy') kill -USR2 "$(cat haproxy.pid)" ;;
  'restart postgresql') PGHOST='${socket}' PGPORT=${ports.database} psql -qAtXc 'SELECT pg_reload_conf()' postgres postgres ;;
  *) echo "no stand-in for systemctl $*"; exit 1 ;;
esac`;
}

/**
 * Gives a server what Debian's has: a superuser "postgres" who needs no password on the machine, a self-signed certificate, and
 * no access from other machines. Returns the directory of its socket.
 */
async function likeDebians(postgres: TestPostgres, home: string): Promise<string> {
  const [files] = (await runOn(
    postgres.url,
    `SELECT current_setting('hba_file') AS hba, current_setting('data_directory') AS data, current_setting('unix_socket_directories') AS socket`,
  )) as { hba: string; data: string; socket: string }[];
  if (files === undefined) throw new Error('the server has no settings');
  await runOn(postgres.url, 'CREATE ROLE postgres SUPERUSER LOGIN');
  const { certificate, key } = makeCertificate('database');
  const owner = statSync(files.data);
  for (const [name, text] of Object.entries({ 'server.crt': certificate, 'server.key': key })) {
    writeFileSync(join(files.data, name), text, { mode: 0o600 });
    chownSync(join(files.data, name), owner.uid, owner.gid);
  }
  writeFileSync(files.hba, 'local all all trust\n');
  symlinkSync(files.hba, join(home, 'pg_hba.conf'));
  const url = postgres.url.replace('turnpike@', 'postgres@');
  // The page creates a role of this name. ALTER SYSTEM needs a transaction of its own.
  for (const change of [
    'ALTER ROLE turnpike RENAME TO first_user',
    'ALTER SYSTEM SET ssl = on',
    'SELECT pg_reload_conf()',
  ])
    await runOn(url, change);
  return files.socket;
}
