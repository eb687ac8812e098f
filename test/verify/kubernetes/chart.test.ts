// The Helm chart, rendered by Helm and compared by kubeconform with the API of Kubernetes, in its oldest and newest supported version.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { DEFAULT_SETTINGS } from '../../../src/catalog/settings.ts';
import { inspectConfig } from '../../../src/config/config.ts';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';
import { type Kind, schemaLocation, writeSchemas } from './schemas.ts';

const STOP_SECONDS_MAX = 15; // after the drain: responses in transit, and the store's last bills
const ANSWER_SECONDS_MAX =
  DEFAULT_SETTINGS.attemptsSeconds + DEFAULT_SETTINGS.upstreamAnswerSeconds + DEFAULT_SETTINGS.settleWaitSeconds;

const chart = join(rootDirectory, 'deploy/helm/turnpike');
const found = Bun.spawnSync(['sh', join(import.meta.dir, 'install.sh'), '--find']);
const programs = found.exitCode === 0 ? found.stdout.toString().trim() : null;
const versions = ['v1.30.14', 'v1.37.2'];

interface Rendered extends Kind {
  metadata: { name: string; annotations?: Record<string, string>; labels: Record<string, string> };
  spec: Record<string, unknown>;
  data?: Record<string, string>;
}
interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { name: string; key: string } };
}
interface Probe {
  httpGet: { path: string; port: string };
  periodSeconds: number;
  failureThreshold: number;
}
interface Container {
  args: string[];
  env: Variable[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  lifecycle: { preStop: { sleep: { seconds: number } } };
  securityContext: Record<string, unknown>;
  volumeMounts: { name: string; mountPath: string }[];
}
interface Pod {
  enableServiceLinks: boolean;
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: Record<string, unknown>;
  containers: [Container];
}

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'turnpike-chart-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function helm(...given: string[]) {
  const child = Bun.spawnSync([join(programs ?? '', 'helm'), ...given], {
    cwd: home,
    env: { PATH: '/usr/bin:/bin', HOME: home },
  });
  return { exitCode: child.exitCode, out: child.stdout.toString(), errors: child.stderr.toString() };
}

function valuesFile(name: string): string {
  return join(import.meta.dir, 'values', `${name}.yaml`);
}

/** Output of `helm template` for a file of values and further arguments. */
function render(name: string, given: readonly string[] = [], version = versions[0] as string, directory = chart) {
  return helm('template', 'shop', directory, '-f', valuesFile(name), '--kube-version', version, ...given);
}

function objectsOf(text: string): Rendered[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
}

/** The objects of these values; throws if Helm refuses them. */
function renderObjects(name: string, ...given: string[]): Rendered[] {
  const { exitCode, out, errors } = render(name, given);
  if (exitCode !== 0) throw new Error(errors);
  return objectsOf(out);
}

/** The first object of one of these kinds; throws if there is none. */
function objectOf(objects: readonly Rendered[], ...kinds: string[]): Rendered {
  const object = objects.find(({ kind }) => kinds.includes(kind));
  if (object === undefined) throw new Error(`no ${kinds.join(' or ')} was rendered`);
  return object;
}

function podOf(objects: readonly Rendered[]): Pod {
  const nodes = objectOf(objects, 'Deployment', 'StatefulSet');
  return (nodes.spec as { template: { spec: Pod } }).template.spec;
}

function validate(text: string, version: string) {
  const directory = join(home, version);
  mkdirSync(directory, { recursive: true });
  writeSchemas(objectsOf(text), programs ?? '', version, directory);
  const location = join(directory, schemaLocation);
  const child = Bun.spawnSync(
    [join(programs ?? '', 'kubeconform'), '-strict', '-summary', '-output=json', '-schema-location', location],
    { stdin: Buffer.from(text) },
  );
  return JSON.parse(child.stdout.toString()) as {
    resources: { kind: string; msg: string }[];
    summary: { valid: number; invalid: number; errors: number; skipped: number };
  };
}

describe.skipIf(programs === null)('the chart', () => {
  for (const name of ['sqlite', 'postgresql', 'everything'])
    for (const version of versions)
      test(`passes the lint of Helm and the schemas of Kubernetes ${version} with the values ${name}`, () => {
        const lint = helm('lint', '--strict', chart, '-f', valuesFile(name), '--kube-version', version);
        expect(lint.out).toContain('1 chart(s) linted, 0 chart(s) failed');
        expect(lint.exitCode).toBe(0);
        const { out } = render(name, [], version);
        const { resources, summary } = validate(out, version);
        expect(resources ?? []).toEqual([]);
        expect(summary).toEqual({ valid: objectsOf(out).length, invalid: 0, errors: 0, skipped: 0 });
        expect(summary.valid).toBeGreaterThanOrEqual(6);
      });

  test('fails these checks with a field that Kubernetes does not have, in a built-in or a custom resource', () => {
    const broken = join(home, 'broken');
    cpSync(chart, broken, { recursive: true, dereference: true });
    for (const [file, before, after] of [
      ['_pod.tpl', 'enableServiceLinks:', 'enableServiceLink:'],
      ['monitoring.yaml', 'interval: {{', 'intervall: {{'],
      ['network-policy.yaml', 'policyTypes: [Ingress, Egress]', 'policyTypes: Ingress'],
    ] as const) {
      const path = join(broken, 'templates', file);
      const text = readFileSync(path, 'utf8');
      expect(text).toContain(before);
      writeFileSync(path, text.replace(before, after));
    }
    const { out } = render('everything', [], versions[0], broken);
    for (const version of versions) {
      const { resources, summary } = validate(out, version);
      expect(summary.invalid).toBe(3);
      expect(resources.map(({ kind }) => kind).sort()).toEqual(['Deployment', 'NetworkPolicy', 'ServiceMonitor']);
    }
  });

  test('accepts the values and the file of docs/operating.md', () => {
    const [, text = ''] =
      /^## Kubernetes$[\s\S]*?```yaml\n([\s\S]*?)```/m.exec(readText('docs/operating.md') ?? '') ?? [];
    const values = join(home, 'documented.yaml');
    writeFileSync(values, text);
    const file = join(rootDirectory, 'deploy/turnpike.yaml');
    const given = ['-f', values, '--set-file', `apply=${file}`, '--kube-version', versions[0] as string];
    const { out, errors } = helm('template', 'gateway', chart, ...given);
    expect(errors).not.toContain('Error');
    expect(validate(out, versions[0] as string).summary.invalid).toBe(0);
    const names = objectsOf(out).filter(({ kind }) => ['Service', 'Deployment'].includes(kind));
    expect(names.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      'Deployment gateway-turnpike',
      'Service gateway-turnpike',
      'Service gateway-turnpike-admin',
    ]);
  });

  test('has the version of the program', () => {
    const { version } = JSON.parse(readText('package.json') ?? '') as { version: string };
    const read = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>;
    expect([read['version'], read['appVersion']]).toEqual([version, version]);
    expect(read['kubeVersion']).toBe(`>=${versions[0]?.slice(1, 5)}.0-0`);
  });

  test('has one Deployment of nodes on PostgreSQL, or one StatefulSet of a single node with a volume', () => {
    const kindsOf = (objects: Rendered[]) => objects.map(({ kind }) => kind);
    const [few, many] = [renderObjects('sqlite'), renderObjects('postgresql')];
    expect(kindsOf(few)).not.toContain('Deployment');
    expect(kindsOf(few)).not.toContain('PodDisruptionBudget');
    expect(objectOf(few, 'StatefulSet').spec).toMatchObject({
      replicas: 1,
      volumeClaimTemplates: [{ metadata: { name: 'data' } }],
    });
    expect(kindsOf(many)).not.toContain('StatefulSet');
    const [deployment, budget] = [objectOf(many, 'Deployment'), objectOf(many, 'PodDisruptionBudget')];
    expect(deployment.spec).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    expect(budget.spec).toMatchObject({ maxUnavailable: 1 });
    expect(render('sqlite', ['--set', 'replicas=2']).errors).toContain("at '/replicas'");
  });

  test('asks readiness where the service answers it, and restarts only a process that does not answer', () => {
    const [{ startupProbe, livenessProbe, readinessProbe, ports, env }] = podOf(renderObjects('postgresql')).containers;
    const routes = readText('src/public-api/routes.ts') ?? '';
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      expect(routes).toContain(`'${httpGet.path}'`);
      expect(httpGet.port).toBe('http');
    }
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
      '/healthz',
      '/healthz',
      '/readyz',
    ]);
    expect(ports.map(({ name, containerPort }) => `${name} ${containerPort}`)).toEqual(['http 8080', 'admin 8081']);
    const waitSeconds = Number(env.find(({ name }) => name === 'TURNPIKE_DATABASE_WAIT_SECONDS')?.value);
    expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThan(waitSeconds);
  });

  test('gives a pod more time to stop than it may drain, with the settings of the file that it applies', () => {
    const graceOf = (...given: string[]) => podOf(renderObjects('postgresql', ...given)).terminationGracePeriodSeconds;
    const { containers } = podOf(renderObjects('postgresql'));
    const { seconds } = containers[0].lifecycle.preStop.sleep;
    const { readinessProbe } = containers[0];
    expect(seconds).toBeGreaterThan(readinessProbe.periodSeconds * readinessProbe.failureThreshold);
    expect(graceOf()).toBeGreaterThanOrEqual(seconds + DEFAULT_SETTINGS.drainSeconds + STOP_SECONDS_MAX);
    const file = 'settings: { drain_seconds: 1800, drain_notice_seconds: 20 }';
    expect(graceOf('--set-literal', `apply=${file}`)).toBeGreaterThanOrEqual(seconds + 20 + 1800 + STOP_SECONDS_MAX);
    expect(graceOf('--set', 'drain.seconds=3600')).toBeGreaterThanOrEqual(3600 + seconds + STOP_SECONDS_MAX);
    expect(graceOf('--set', 'drain.noticeSeconds=60')).toBe(graceOf() + 60 - seconds);
  });

  test('replaces pods when the file that they apply changes, and keeps its digits', () => {
    const annotationsOf = (text: string) => {
      const objects = renderObjects('postgresql', '--set-literal', `apply=${text}`);
      expect(objectOf(objects, 'ConfigMap').data).toEqual({ 'turnpike.yaml': text });
      const [{ args, volumeMounts }] = podOf(objects).containers;
      expect(args).toEqual(['serve', '--apply', '/etc/turnpike/turnpike.yaml']);
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain('/etc/turnpike');
      const { template } = objectOf(objects, 'Deployment').spec as { template: Rendered };
      return template.metadata.annotations;
    };
    const text = 'groups: { team: { models: ["*"], multiplier: 1.10, rpm: 10000000 } } # as written\n';
    expect(annotationsOf(text)).toEqual(annotationsOf(text));
    expect(annotationsOf(text)).not.toEqual(annotationsOf(text.replace('1.10', '1.1')));
    expect(podOf(renderObjects('postgresql')).containers[0].args).toEqual(['serve']);
  });

  test('has no secret as a value, and refuses one', () => {
    const text = render('everything').out;
    const names = podOf(objectsOf(text)).containers[0].env;
    const fromSecrets = names.filter(({ valueFrom }) => valueFrom !== undefined).map(({ name }) => name);
    expect(fromSecrets.sort()).toEqual([
      'ANTHROPIC_KEY',
      'TURNPIKE_DATABASE_URL',
      'TURNPIKE_PREVIOUS_SECRET',
      'TURNPIKE_SECRET',
      'TURNPIKE_SMTP_URL',
    ]);
    expect(objectsOf(text).map(({ kind }) => kind)).not.toContain('Secret');
    for (const given of [
      'env.TURNPIKE_SECRET=x',
      'env.TURNPIKE_DATABASE_URL=postgres://u:p@h/d',
      'env.OPENAI_API_KEY=x',
      'env.TURNPIKE_STRIPE_WEBHOOK_SECRET=x',
      'secrets.installation.value=x',
    ])
      expect(render('postgresql', ['--set', given]).exitCode).not.toBe(0);
    for (const file of [
      'providers: { a: { kind: anthropic, api_key: sk-ant-1 } }',
      'providers: { a: { kind: anthropic, credentials: { b: { api_key: sk-ant-1 } } } }',
    ])
      expect(render('postgresql', ['--set-literal', `apply=${file}`]).errors).toContain('in plain text');
    expect(render('postgresql', ['--set', 'secrets.installation.name=']).errors).toContain(
      '/secrets/installation/name',
    );
    expect(render('postgresql', ['--set', 'secrets.database.name=']).errors).toContain('/secrets/database/name');
  });

  test('sets only variables that the service knows, and none that Kubernetes invents', () => {
    for (const name of ['sqlite', 'postgresql', 'everything']) {
      const pod = podOf(renderObjects(name));
      // Kubernetes would set TURNPIKE_PORT and others for a Service named turnpike.
      expect(pod.enableServiceLinks).toBe(false);
      const known: Record<string, string> = {
        TURNPIKE_SECRET: Buffer.alloc(32, 1).toString('base64'),
        TURNPIKE_PREVIOUS_SECRET: Buffer.alloc(32, 2).toString('base64'),
        TURNPIKE_DATABASE_URL: 'postgres://turnpike:x@postgres/turnpike',
        TURNPIKE_SMTP_URL: 'smtp://u:p@mail.example.com:587',
      };
      const environment = Object.fromEntries(
        pod.containers[0].env.map(({ name: variable, value }) => [variable, value ?? known[variable]]),
      );
      const { config, faults } = inspectConfig({}, environment);
      expect(faults).toEqual([]);
      expect(config.databaseUrl === null).toBe(name === 'sqlite');
      expect([config.listen.port, config.adminListen?.port]).toEqual([8080, 8081]);
    }
  });

  test('runs pods without rights: no user of the machine, no capabilities, no token, nothing to write but its volumes', () => {
    const dockerfile = readText('Dockerfile') ?? '';
    for (const name of ['sqlite', 'postgresql', 'everything']) {
      const objects = renderObjects(name);
      const pods = objects.filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind));
      expect(pods.length).toBe(name === 'everything' ? 2 : 1);
      for (const { spec } of pods) {
        const pod = (spec as { template: { spec: Pod } }).template.spec;
        expect(pod.automountServiceAccountToken).toBe(false);
        expect(pod.enableServiceLinks).toBe(false);
        expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
        expect(dockerfile).toContain(`USER ${pod.securityContext['runAsUser']}:${pod.securityContext['runAsGroup']}`);
        expect(pod.containers[0].securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(pod.containers[0].volumeMounts.map(({ mountPath }) => mountPath)).toContain('/tmp');
      }
      const { env, volumeMounts } = podOf(objects).containers[0];
      const data = env.find(({ name: variable }) => variable === 'TURNPIKE_DATA')?.value ?? '';
      expect(data.startsWith(`${volumeMounts.find(({ name: volume }) => volume === 'data')?.mountPath}/`)).toBe(true);
    }
  });

  test('publishes messages, and of the admin address only the paths that are asked for', () => {
    const backends = (objects: Rendered[]) => {
      const rules = objectOf(objects, 'Ingress').spec['rules'] as {
        http: { paths: { path: string; backend: { service: { name: string } } }[] };
      }[];
      return rules[0]?.http.paths.map(({ path, backend }) => `${path} ${backend.service.name}`);
    };
    expect(backends(renderObjects('sqlite'))).toEqual(['/ shop-turnpike']);
    expect(backends(renderObjects('everything'))).toEqual([
      '/console shop-turnpike-admin',
      '/api/v1 shop-turnpike-admin',
      '/unsubscribe shop-turnpike-admin',
      '/webhooks/stripe shop-turnpike-admin',
      '/ shop-turnpike',
    ]);
    const policy = objectOf(renderObjects('postgresql'), 'NetworkPolicy');
    expect(policy.spec['ingress']).toEqual([
      { ports: [{ port: 'http' }] },
      { ports: [{ port: 'admin' }], from: [{ podSelector: {} }] },
    ]);
    // Otherwise the policy would stop the Ingress controller.
    expect(render('postgresql', ['--set', 'publicAdminPaths={/console}']).errors).toContain('/networkPolicy/adminFrom');
  });

  test('buffers no stream, and waits as long as an answer may take', () => {
    const ingress = objectOf(renderObjects('sqlite'), 'Ingress');
    const setting = (name: string) => ingress.metadata.annotations?.[`nginx.ingress.kubernetes.io/${name}`];
    expect([setting('proxy-buffering'), setting('proxy-request-buffering')]).toEqual(['off', 'off']);
    expect(Number(setting('proxy-read-timeout'))).toBeGreaterThan(ANSWER_SECONDS_MAX);
    expect(setting('proxy-next-upstream')).not.toContain('non_idempotent');
    const route = objectOf(renderObjects('everything'), 'HTTPRoute');
    expect((route.spec['rules'] as unknown[]).at(-1)).toMatchObject({
      timeouts: { request: '0s', backendRequest: '0s' },
    });
  });

  test('scrapes the admin address with a token, by the rules and the dashboard of monitoring/', () => {
    const objects = renderObjects('everything');
    const specOf = (kind: string) => objectOf(objects, kind).spec;
    expect(specOf('PrometheusRule')).toEqual(parse(readText('monitoring/alerts.yaml') ?? ''));
    const dashboard = objects.find(({ data }) => data?.['turnpike.json'] !== undefined)?.data?.['turnpike.json'];
    expect(dashboard).toBe(readText('monitoring/dashboard.json') ?? '');
    const [endpoint] = specOf('ServiceMonitor')['endpoints'] as Record<string, unknown>[];
    expect(endpoint).toMatchObject({
      port: 'admin',
      path: '/metrics',
      authorization: { credentials: { name: 'turnpike-token' } },
    });
    const { matchLabels } = specOf('ServiceMonitor')['selector'] as { matchLabels: Record<string, string> };
    const selected = objects.filter(
      ({ kind, metadata }) =>
        kind === 'Service' && Object.entries(matchLabels).every(([name, value]) => metadata.labels[name] === value),
    );
    expect(selected.map(({ metadata }) => metadata.name)).toEqual(['shop-turnpike-admin']);
    expect(render('postgresql', ['--set', 'monitoring.serviceMonitor.enabled=true']).errors).toContain('/token/name');
  });

  test('migrates before pods are replaced, with the secret of another database role', () => {
    const job = objectOf(renderObjects('everything'), 'Job');
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    const [{ args, env }] = (job.spec as { template: { spec: Pod } }).template.spec.containers;
    expect(args).toEqual(['migrate', '--grant', 'turnpike_node']);
    expect(env).toEqual([
      { name: 'TURNPIKE_DATABASE_URL', valueFrom: { secretKeyRef: { name: 'turnpike-owner', key: 'url' } } },
    ]);
    expect(renderObjects('postgresql').map(({ kind }) => kind)).not.toContain('Job');
    expect(render('postgresql', ['--set', 'migrations.enabled=true']).errors).toContain('/migrations/secret/name');
  });
});
