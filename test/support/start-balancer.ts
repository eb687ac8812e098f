// Starts HAProxy or nginx in front of nodes, with the configuration of deploy/ and other addresses. It ends with the
// process that started it.

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'bun';
import { rootDirectory } from '../check.ts';
import { freePort } from './free-port.ts';

export type BalancerName = 'haproxy' | 'nginx';

export interface Balancer extends AsyncDisposable {
  url: string;
  /** The port with TLS; null without a certificate. */
  tlsPort: number | null;
  /** Log output so far. */
  readLog(): string;
  /**
   * Takes this node out of rotation, or without a name puts all back, as an operator does before a stop. Needed for
   * nginx, which has no readiness checks. Requests in progress continue.
   */
  markDown(down: readonly string[]): Promise<void>;
}

const START_MS_MAX = 10_000;
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;

/** Its tests are skipped where it is not installed; under CI a skipped test is a failure. */
export function findBalancer(name: BalancerName): string | null {
  return Bun.which(name, { PATH });
}

/** In PEM. */
interface Certificate {
  certificate: string;
  key: string;
}

/** `nodes` are addresses such as "127.0.0.1:8081". With `tls`, it also listens with TLS. Resolves when it answers. */
export async function startBalancer(
  name: BalancerName,
  nodes: readonly string[],
  tls: Certificate | null = null,
): Promise<Balancer> {
  const program = findBalancer(name);
  if (program === null) throw new Error(`there is no ${name}: install the package of that name`);
  const home = mkdtempSync(join(tmpdir(), `turnpike-${name}-`));
  chmodSync(home, 0o755); // nginx reads it as another user.
  const address = `127.0.0.1:${freePort()}`;
  const tlsPort = tls === null ? null : freePort();
  const files = name === 'haproxy' ? haproxyFiles : nginxFiles;
  for (const [file, text] of Object.entries(files(home, address, nodes)))
    writeFileSync(join(home, file), tlsPort === null ? text : withTls(text, home, tlsPort));
  if (tls !== null) {
    writeFileSync(join(home, 'turnpike.pem'), tls.certificate + tls.key);
    writeFileSync(join(home, 'turnpike.crt'), tls.certificate);
    writeFileSync(join(home, 'turnpike.key'), tls.key);
  }
  const flags =
    name === 'haproxy' ? ['-f', join(home, 'haproxy.cfg')] : ['-c', join(home, 'main.conf'), '-e', 'stderr'];
  const log = join(home, 'log');
  const child = spawn(['setpriv', '--pdeathsig=TERM', '--', program, ...flags], {
    stdin: 'ignore',
    stdout: Bun.file(log),
    stderr: Bun.file(log),
  });
  const readLog = () => readFileSync(log, 'utf8');
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  await waitUntilAnswering(`http://${address}`, isAlive, readLog);
  return {
    url: `http://${address}`,
    tlsPort,
    readLog,
    async markDown(down) {
      if (down.length > 1) throw new Error('one node at a time');
      for (const [at, node] of nodes.entries()) {
        if (down.includes(node)) writeFileSync(downFile(home, at), '');
        else rmSync(downFile(home, at), { force: true });
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

type Files = (home: string, address: string, nodes: readonly string[]) => Record<string, string>;

const haproxyFiles: Files = (_home, address, nodes) => {
  const text = readDeployed('haproxy.cfg').replace('bind :8080', `bind ${address}`);
  // Runs without changing its user: a process that changes it gets no signal when its parent dies.
  return { 'haproxy.cfg': withNodes(text.replace(/^ {4}(?:user|group) .*\n/gm, ''), nodes) };
};

const nginxFiles: Files = (home, address, nodes) => {
  const text = withNodes(readDeployed('nginx.conf').replace('listen 8080;', `listen ${address};`), nodes);
  return { 'site.conf': withChoices(text, home, nodes), 'main.conf': nginxMain(home) };
};

/** Uncomments the lines about TLS. */
function withTls(text: string, home: string, port: number): string {
  return text
    .replace(/# (bind|listen) :?443/, `$1 127.0.0.1:${port}`)
    .replace(/# (ssl_certificate)/g, '$1')
    .replace(/\/etc\/(?:haproxy|nginx)\/(turnpike\.(?:pem|crt|key))/g, `${home}/$1`);
}

/** Stands for Debian's own nginx.conf, in one directory. */
function nginxMain(home: string): string {
  const parts = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
pid ${home}/pid;
error_log stderr;
daemon off;
worker_processes 2;
worker_rlimit_nofile 65536;
events { worker_connections 16384; }
http {
  access_log off;
  ${parts.map((part) => `${part}_temp_path ${home}/${part};`).join(' ')}
  include ${home}/site.conf;
}
`;
}

export function readDeployed(file: string): string {
  return readFileSync(join(rootDirectory, 'deploy', file), 'utf8');
}

/** Replaces the lines of the two nodes by lines of these ones. */
function withNodes(text: string, nodes: readonly string[]): string {
  return text.replace(/^( +server) ((?:node-1 )?)node-1:8080(.*)\n.*node-2:8080.*\n/gm, (_, server, name, rest) =>
    nodes.map((node, at) => `${server} ${name.replace('1', String(at + 1))}${node}${rest}\n`).join(''),
  );
}

/** nginx's list of the other nodes, and a file that marks a node as down, for each node. */
function withChoices(text: string, home: string, nodes: readonly string[]): string {
  const blocksOf = (pattern: RegExp, blockOf: (at: number) => string) => {
    if (!pattern.test(text)) throw new Error(`deploy/nginx.conf has no ${pattern}`);
    return (whole: string) => whole.replace(pattern, () => nodes.map((_, at) => blockOf(at)).join(''));
  };
  const lists = blocksOf(/^(?:upstream nodes-but-\d \{[^}]*\}\n)+/m, (at) => {
    const others = nodes.filter((_, other) => other !== at);
    return `upstream nodes-but-${at + 1} {\n${others.map((node) => `    server ${node} max_fails=0;\n`).join('')}}\n`;
  });
  const choices = blocksOf(
    /^(?: +if \(-f \S+-\d\.down\) \{[^}]*\}\n)+/m,
    (at) => `    if (-f ${downFile(home, at)}) {\n        set $nodes nodes-but-${at + 1};\n    }\n`,
  );
  return choices(lists(text));
}

function downFile(home: string, at: number): string {
  return join(home, `node-${at + 1}.down`);
}

async function waitUntilAnswering(url: string, isAlive: () => boolean, readLog: () => string): Promise<void> {
  for (const untilMs = Date.now() + START_MS_MAX; Date.now() < untilMs && isAlive(); await Bun.sleep(20)) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    if (answer?.status === 200) return;
  }
  throw new Error(`the load balancer does not answer: ${readLog()}`);
}
