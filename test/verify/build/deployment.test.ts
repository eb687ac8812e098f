// Compares Dockerfile, compose.yaml and the load balancers' configurations with the project and with each other. No
// Docker daemon is needed.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { DEFAULT_SETTINGS } from '../../../src/catalog/settings.ts';
import { bounds, inspectConfig } from '../../../src/config/config.ts';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';
import { type BalancerName, findBalancer, readDeployed } from '../../support/start-balancer.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

interface Service {
  image: string;
  command?: string[];
  stop_grace_period?: string;
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  extra_hosts?: string[];
  networks?: { default: { ipv4_address: string } };
}

const STOP_SECONDS_MAX = 15; // After the drain: responses in transit, and the store's last bills.
const POSTGRESQL_LEAST = 14;

const dockerfile = readText('Dockerfile') ?? '';
const composeText = readText('compose.yaml') ?? '';
const { services } = parse(composeText, { merge: true }) as { services: Record<string, Service> };
const nodes = Object.fromEntries(Object.entries(services).filter(([, { image }]) => image === 'turnpike'));
const haproxy = readDeployed('haproxy.cfg');
const nginx = readDeployed('nginx.conf');
const sold = parse(readDeployed('turnpike.yaml')) as { settings: { drain_notice_seconds: number } };

const allOf = (pattern: RegExp, text: string) => [...text.matchAll(pattern)].map(([, found]) => found as string);
const environmentOfImage = Object.fromEntries(
  allOf(/(TURNPIKE_\w+=\S+)/g, dockerfile).map((setting) => setting.split('=') as [string, string]),
);

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await startTurnpike(sold);
});
afterAll(() => turnpike.stop());

test('the image needs only the files that are copied into it', async () => {
  const copied = dockerfile
    .split('\n')
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
    .flatMap((line) => line.split(' ').slice(1, -1));
  expect(copied.filter((path) => !existsSync(join(rootDirectory, path)))).toEqual([]);
  expect(allOf(/^!(.*)$/gm, readText('.dockerignore') ?? '').sort()).toEqual(copied.toSorted());
  const stage = mkdtempSync(join(tmpdir(), 'turnpike-image-'));
  for (const path of copied) cpSync(join(rootDirectory, path), join(stage, path), { recursive: true });
  symlinkSync(join(rootDirectory, 'node_modules'), join(stage, 'node_modules'));
  // All imports are found there. Building the executable takes longer and is tested elsewhere.
  const entrypoints = ['bin/executable.ts', 'bin/build.ts'].map((path) => join(stage, path));
  expect((await Bun.build({ entrypoints, target: 'bun' })).success).toBe(true);
  rmSync(stage, { recursive: true, force: true });
  for (const needed of ['package.json', 'package-lock.json']) expect(copied).toContain(needed); // Used by bin/with-bun.
  expect(dockerfile).toContain('COPY --from=build /turnpike/dist/turnpike ');
});

test('the executable is built on the Debian version it runs on, and the other images have supported versions', () => {
  const [build, run] = allOf(/^FROM (\S+)/gm, dockerfile);
  expect(build).toContain('-bookworm-slim');
  expect(run).toBe('debian:bookworm-slim');
  expect(Number(/^postgres:(\d+)/.exec(services['postgres']?.image ?? '')?.[1])).toBeGreaterThanOrEqual(
    POSTGRESQL_LEAST,
  );
  expect(services['balancer']?.image).toBe(`haproxy:${/HAProxy \(([\d.]+) or later\)/.exec(haproxy)?.[1]}`);
});

test('the Dockerfile has no faults, and its executable names the commit', () => {
  expect(validate(dockerfile)).toEqual([]);
  expect(validate(dockerfile.replace('COPY', 'COPPY'))).not.toEqual([]);
  expect(dockerfile).toContain('ARG COMMIT=\nRUN npm run build -- --commit "$COMMIT"\n');
});

test('neither the image nor compose.yaml has a secret: without secrets in the environment nothing starts', () => {
  expect(dockerfile.replace('contains no secrets', '')).not.toMatch(/secret|password|token|api_key/i);
  const secrets = Object.values(services).flatMap(({ environment = {} }) =>
    Object.entries(environment).filter(([name]) => /SECRET|PASSWORD|DATABASE_URL/.test(name)),
  );
  expect(secrets.length).toBe(5);
  expect(secrets.filter(([, value]) => !/\$\{\w+:\?[^}]+\}/.test(value))).toEqual([]);
  expect(readText('.gitignore')?.split('\n')).toContain('.env');
});

test('the settings of the nodes exist in the service, and the files they name exist', () => {
  expect(Object.keys(nodes)).toEqual(['node-1', 'node-2']);
  for (const { environment = {}, command, volumes = [] } of Object.values(nodes)) {
    const given = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        value
          .replace(/\$\{TURNPIKE_SECRET:[^}]*\}/, Buffer.alloc(32, 1).toString('base64'))
          .replace(/\$\{\w+:[^}]*\}/, 'secret'),
      ]),
    );
    const { config, faults } = inspectConfig({}, { ...environmentOfImage, ...given });
    expect(faults).toEqual([]);
    expect(config.databaseUrl).toBe('postgres://turnpike:secret@postgres:5432/turnpike');
    expect(config.trustedProxies).toEqual([services['balancer']?.networks?.default.ipv4_address as string]);
    const [data, file] = volumes.map((volume) => volume.split(':'));
    expect(data?.[1]).toBe(environmentOfImage['TURNPIKE_DATA']);
    expect(command).toEqual(['serve', '--apply', file?.[1] as string]);
    expect(existsSync(join(rootDirectory, file?.[0] ?? ''))).toBe(true);
  }
});

test('ports and names agree, from the balancer to the health of the image', () => {
  const port = environmentOfImage['TURNPIKE_LISTEN']?.split(':')[1];
  expect(allOf(/^EXPOSE (\d+)/gm, dockerfile)).toEqual([port as string]);
  expect(allOf(/\/dev\/tcp\/127\.0\.0\.1\/(\d+)/g, dockerfile)).toEqual([port as string]);
  const names = Object.keys(nodes).map((name) => `${name}:${port}`);
  expect([...new Set(allOf(/^ +server (?:node-\d )?(\S+)/gm, haproxy))].map((name) => name.replace(';', ''))).toEqual(
    names,
  );
  expect([...new Set(allOf(/^ +server (\S+)/gm, nginx))]).toEqual(names);
  expect(allOf(/^upstream nodes-but-(\d)/gm, nginx)).toEqual(['1', '2']);
  for (const at of ['1', '2']) {
    expect(nginx).toMatch(new RegExp(`node-${at}\\.down\\) \\{\\n +set \\$nodes nodes-but-${at};`));
    expect(nginx).not.toMatch(new RegExp(`nodes-but-${at} \\{[^}]*node-${at}`));
  }
  const balancer = services['balancer'] as Service;
  expect(balancer.ports).toEqual([`127.0.0.1:8080:${/bind :(\d+)/.exec(haproxy)?.[1]}`]);
  expect(balancer.volumes).toEqual(['./deploy/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro']);
  const addresses = Object.entries(nodes).map(([name, { networks }]) => `${name}:${networks?.default.ipv4_address}`);
  expect(balancer.extra_hosts).toEqual(addresses);
});

test('the console of one node can be opened from the machine, and from no other', () => {
  const published = Object.values(nodes).flatMap(({ ports = [] }) => ports);
  const port = nodes['node-1']?.environment?.['TURNPIKE_ADMIN_LISTEN']?.split(':')[1];
  expect(published).toEqual([`127.0.0.1:${port}:${port}`]);
});

test('the stop timeout covers a node’s drain and the balancer’s health checks', () => {
  const notice = sold.settings.drain_notice_seconds; // The service accepted the file at its start.
  for (const { stop_grace_period } of Object.values(nodes)) {
    const graceSeconds = 60 * Number(/^(\d+)m$/.exec(stop_grace_period ?? '')?.[1]);
    expect(graceSeconds).toBeGreaterThanOrEqual(DEFAULT_SETTINGS.drainSeconds + notice + STOP_SECONDS_MAX);
  }
  const check = /check inter (\d+)s fastinter (\d+)ms downinter \d+s fall (\d+)/.exec(haproxy) ?? [];
  const [interSeconds, fastMs, fall] = check.slice(1).map(Number) as [number, number, number];
  const timeoutsSeconds = fall * interSeconds; // Covers checks that are not answered at once.
  expect(interSeconds + ((fall - 1) * fastMs) / 1000 + timeoutsSeconds).toBeLessThan(notice);
});

test('the balancers wait as long as an answer may take, and close idle connections before nodes do', () => {
  const { attemptsSeconds, upstreamAnswerSeconds, settleWaitSeconds } = DEFAULT_SETTINGS;
  const answerSecondsMax = attemptsSeconds + upstreamAnswerSeconds + settleWaitSeconds;
  const seconds = (pattern: RegExp, text: string) => Number(pattern.exec(text)?.[1]);
  expect(seconds(/timeout server (\d+)s/, haproxy)).toBeGreaterThan(answerSecondsMax);
  expect(seconds(/proxy_read_timeout (\d+)s/, nginx)).toBeGreaterThan(answerSecondsMax);
  expect(seconds(/timeout http-request (\d+)s/, haproxy)).toBe(bounds.requestHeadSecondsMax);
  expect(seconds(/client_header_timeout (\d+)s/, nginx)).toBe(bounds.requestHeadSecondsMax);
  expect(seconds(/timeout http-keep-alive (\d+)s/, haproxy)).toBeLessThan(bounds.keepAliveIdleSecondsMax);
  expect(nginx).not.toMatch(/^\s*keepalive \d/m);
});

/** Runs the balancer's own check of a configuration. */
function checkConfiguration(name: BalancerName, text: string): { exitCode: number; words: string } {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-check-'));
  const [site, main] = [join(home, 'site.conf'), join(home, 'main.conf')];
  writeFileSync(site, text);
  writeFileSync(main, `pid ${home}/pid; events {} http { include ${site}; }`); // stands for Debian's own nginx.conf
  const flags = name === 'haproxy' ? ['-c', '-f', site] : ['-t', '-c', main, '-e', 'stderr'];
  const { exitCode, stdout, stderr } = Bun.spawnSync([findBalancer(name) ?? '', ...flags]);
  rmSync(home, { recursive: true, force: true });
  return { exitCode, words: `${stdout}${stderr}` };
}

for (const [name, text, check] of [
  ['haproxy', haproxy, 'haproxy -c'],
  ['nginx', nginx, 'nginx -t'],
] as const)
  test.skipIf(findBalancer(name) === null)(
    `${check} accepts the configuration, once the names of the nodes resolve`,
    () => {
      const resolved = text.replace(/ node-(\d):8080/g, ' 127.0.0.1:808$1');
      expect(checkConfiguration(name, resolved).exitCode).toBe(0);
      const { exitCode, words } = checkConfiguration(name, text);
      expect(exitCode).toBe(1);
      expect(words).toMatch(/could not resolve address 'node-1'|host not found in upstream "node-1:8080"/);
    },
  );

test('the image is healthy only while the service answers', async () => {
  const command = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
  const runFor = async (port: string | number) => {
    const given = command.map((part) => part.replace('/127.0.0.1/8080', `/127.0.0.1/${port}`));
    return await Bun.spawn(given, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore', timeout: 5_000 }).exited;
  };
  expect(await runFor(new URL(turnpike.url).port)).toBe(0);
  using broken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('no', { status: 500 }) });
  expect(await runFor(broken.port as number)).not.toBe(0);
  const { port } = broken;
  await broken.stop(true);
  expect(await runFor(port as number)).not.toBe(0);
});
