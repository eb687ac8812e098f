// `turnpike apply`: prints the changes, or every fault with its line.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { YamlReader } from '../../../src/commands/apply-file.ts';
import type { Json } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

const FILE = `# what is sold
vendor_prefixes: [vendor, anthropic]
providers:
  upstream: { kind: anthropic, base_url: https://api.example.com, api_key: "\${UPSTREAM_KEY}" }
models:
  big-4.1:
    aliases: [big]
    price: { input: 3, output: 15.5, cache_read: 0.3 }
    routes:
      - { provider: upstream, model: big-1 }
groups:
  vip:
    models: ["big-*"]
    multiplier: 0.8
`;

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
  world.environment['UPSTREAM_KEY'] = 'sk-upstream-secret';
});
afterEach(() => world[Symbol.dispose]());

/** The lines of stderr that name a line of the file, without the file's own path. */
async function faultsOf(text: string, ...flags: string[]): Promise<string[]> {
  const file = world.writeFile('turnpike.yaml', text);
  const { exitCode, error } = await world.run('apply', file, ...flags);
  expect(exitCode).toBe(1);
  return error
    .split('\n')
    .filter((line) => line.startsWith(`${file}:`))
    .map((line) => line.slice(file.length + 1));
}

describe('a valid file', () => {
  test('is applied and prints its changes; applied again it changes nothing', async () => {
    const file = world.writeFile('turnpike.yaml', FILE);
    const answer = await world.runJson('apply', file);
    expect(
      (answer['changes'] as Json[]).map((change) => `${change['action']} ${change['kind']} ${change['name']}`),
    ).toEqual(['create provider upstream', 'create model big-4.1', 'create group vip', 'create settings settings']);
    expect(answer).toMatchObject({ dry_run: false, faults: [] });
    expect(await world.runJson('apply', file)).toEqual({ changes: [], dry_run: false, faults: [] });
    const again = await world.run('apply', file);
    expect(again).toEqual({ exitCode: 0, out: '', error: 'Nothing to change: everything already matches the file.\n' });
  });

  test('keeps unquoted decimals exact', async () => {
    await world.run('apply', world.writeFile('turnpike.yaml', FILE.replace('15.5', '0.100000000001')));
    const [model] = (await world.runJson('model', 'list')) as unknown as Json[];
    expect(model?.['price']).toMatchObject({ input: '3', output: '0.100000000001', cache_read: '0.3' });
  });

  test('with --dry-run changes nothing', async () => {
    const { exitCode, out, error } = await world.run('apply', world.writeFile('turnpike.yaml', FILE), '--dry-run');
    expect([exitCode, error]).toEqual([0, 'Would change (nothing was changed):\n']);
    expect(out).toMatch(/^create +group +vip/m);
    expect(await world.runJson('group', 'list')).toHaveLength(2);
  });

  test('with --prune removes what an earlier file created', async () => {
    await world.run('apply', world.writeFile('turnpike.yaml', FILE));
    const { out } = await world.run(
      'apply',
      world.writeFile('less.yaml', FILE.replace(/groups:[\s\S]*/, '')),
      '--prune',
    );
    expect(out).toMatch(/^delete +group +vip/m);
  });

  test('has its variables expanded by the command, so that the service receives the value', async () => {
    await world.run('apply', world.writeFile('turnpike.yaml', FILE));
    expect(world.installation.catalog.current.providers.get('upstream')?.credentials[0]?.secret.reveal()).toBe(
      'sk-upstream-secret',
    );
  });
});

describe('an invalid file changes nothing, exits 1, and reports with its line', () => {
  test('each fault that the service found', async () => {
    const faults = await faultsOf(
      FILE.replace('provider: upstream,', 'provider: nobody,')
        .replace('input: 3', 'input: three')
        .replace('multiplier: 0.8', 'multiplier: 0.8\n    colour: red'),
    );
    expect(faults.map((fault) => fault.replace(/(?<=^\d+: [^ ]+) .*/, ''))).toEqual([
      '8: models.big-4.1.price.input:',
      '10: models.big-4.1.routes.0.provider:',
      '15: groups.vip.colour:',
    ]);
    expect(await world.runJson('group', 'list')).toHaveLength(2);
  });

  test('a missing field, at the line of its parent', async () => {
    const faults = await faultsOf(FILE.replace(/ {4}price: .*\n/, ''));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toStartWith('6: models.big-4.1.price: is missing');
  });

  test('a syntax error', async () => {
    const faults = await faultsOf('groups:\n  vip: { models: [a }\n  bad:\n\t- x\n');
    expect(faults.length).toBeGreaterThan(0);
    expect(faults[0]).toStartWith('2: ');
  });

  test('duplicate fields', async () => {
    expect(await faultsOf('groups:\n  vip:\n    models: ["*"]\n    rpm: 5\n    rpm: 6\n  vip: {}\n')).toEqual([
      '5: groups.vip.rpm: is a duplicate key; the first is on line 4',
      '6: groups.vip: is a duplicate key; the first is on line 2',
    ]);
  });

  test('undefined variables, and TURNPIKE_ variables', async () => {
    world.environment['TURNPIKE_TOKEN'] = 'local';
    delete world.environment['UPSTREAM_KEY'];
    const faults = await faultsOf(
      FILE.replace('https://api.example.com', `"https://\${TURNPIKE_TOKEN}.example.com"`).replace('big-1', `"\${A B}"`),
    );
    expect(faults).toEqual([
      `4: providers.upstream.base_url: \${TURNPIKE_TOKEN}: variables of the service cannot be used in the file`,
      `4: providers.upstream.api_key: \${UPSTREAM_KEY}: the environment variable is not set`,
      `10: models.big-4.1.routes.0.model: \${A B}: the environment variable is not set`,
    ]);
  });

  test('all faults together, in the order of the file', async () => {
    delete world.environment['UPSTREAM_KEY'];
    const broken = FILE.replace('vendor_prefixes: [vendor,', 'vendor_prefixes: [Vendor,')
      .replace('input: 3', 'input: three')
      .replace('https://api.example.com', `"https://\${NO_HOST}"`)
      .replace('multiplier: 0.8', 'multiplier: 0.8\n    concurrency: 1.5\n    rpm: 5\n    rpm: 6');
    const faults = await faultsOf(broken);
    expect(faults).toEqual([
      expect.stringMatching(/^2: vendor_prefixes.0: must have at most 32 characters/),
      `4: providers.upstream.base_url: \${NO_HOST}: the environment variable is not set`,
      `4: providers.upstream.api_key: \${UPSTREAM_KEY}: the environment variable is not set`,
      expect.stringMatching(/^8: models.big-4.1.price.input: must be a decimal/),
      '15: groups.vip.concurrency: must be a whole number',
      '17: groups.vip.rpm: is a duplicate key; the first is on line 16',
    ]);
    expect(await world.runJson('provider', 'list')).toHaveLength(1);
  });

  test('only the missing variable, without faults of its placeholder', async () => {
    await world.run('apply', world.writeFile('turnpike.yaml', FILE));
    const lacking = FILE.replace('https://api.example.com', `"\${NO_URL}"`)
      .replace(/, api_key: "[^"]*"/, '')
      .replace('provider: upstream,', `provider: "\${NO_PROVIDER}",`)
      .replace('output: 15.5', `output: "\${NO_PRICE}"`);
    expect(await faultsOf(lacking)).toEqual([
      expect.stringMatching(/^4: providers.upstream.base_url: .*NO_URL/),
      expect.stringMatching(/^8: models.big-4.1.price.output: .*NO_PRICE/),
      expect.stringMatching(/^10: models.big-4.1.routes.0.provider: .*NO_PROVIDER/),
    ]);
    delete world.environment['UPSTREAM_KEY'];
    expect(await faultsOf(FILE)).toHaveLength(1);
    const upstream = world.installation.catalog.current.providers.get('upstream');
    expect(upstream?.credentials[0]?.secret.reveal()).toBe('sk-upstream-secret');
  });

  test('credentials that would be sent to another host, and missing credentials', async () => {
    const wholeOf = (baseUrl: string, second: string) => `providers:
  upstream:
    kind: anthropic
    base_url: ${baseUrl}
    api_key: "\${UPSTREAM_KEY}"
    credentials:
      second: ${second}
`;
    const first = wholeOf('https://api.example.com', '{ api_key: sk-further-secret }');
    expect((await world.run('apply', world.writeFile('turnpike.yaml', first))).exitCode).toBe(0);
    expect(await faultsOf(wholeOf('https://other.example.com', '{}'))).toEqual([
      expect.stringMatching(/^7: providers.upstream.credentials.second.api_key: must be given again/),
    ]);
    expect(await faultsOf(wholeOf(`"\${NO_URL}"`, '{}'))).toEqual([
      expect.stringMatching(/^4: providers.upstream.base_url: .*NO_URL/),
    ]);
    expect(await faultsOf(wholeOf('https://api.example.com', `{ api_key: "\${NO_KEY}", group: gone }`))).toEqual([
      expect.stringMatching(/^7: providers.upstream.credentials.second.api_key: .*NO_KEY/),
      expect.stringMatching(/^7: providers.upstream.credentials.second.group: there is no group "gone"/),
    ]);
    const own = await faultsOf(wholeOf('https://api.example.com', `{ api_key: "\${TURNPIKE_DATA}" }`));
    expect(own).toEqual([
      expect.stringMatching(/^7: providers.upstream.credentials.second.api_key: .*variables of the service/),
    ]);
  });

  test('the faults of the file even when no service runs', async () => {
    delete world.environment['UPSTREAM_KEY'];
    world.environment['TURNPIKE_DATA'] = '/nowhere';
    const { exitCode, error } = await world.run('apply', world.writeFile('turnpike.yaml', FILE));
    expect([exitCode, error.split('\n').length]).toEqual([1, 4]);
    expect(error).toStartWith('There may be more faults: no service is running here');
    expect(error).toContain(`turnpike.yaml:4: providers.upstream.api_key: \${UPSTREAM_KEY}`);
  });

  test('an account that uses a group to be removed', async () => {
    await world.run('apply', world.writeFile('turnpike.yaml', FILE));
    await world.run('account', 'create', 'acme', '--group', 'vip');
    const faults = await faultsOf(FILE.replace(/ {2}vip:[\s\S]*/, '  other: { models: ["*"] }\n'), '--prune');
    expect(faults).toEqual([expect.stringMatching(/^11: groups: .*"vip".*"acme"/)]);
  });

  test('no fault with a credential in it', async () => {
    const file = world.writeFile('turnpike.yaml', FILE.replace('kind: anthropic', 'kind: nothing'));
    const { error, out } = await world.run('apply', file, '--json');
    expect(error + out).not.toContain('sk-upstream-secret');
  });

  test('the faults with --json as one value on stdout', async () => {
    const file = world.writeFile('turnpike.yaml', FILE.replace('rpm', 'x').replace('models: ["big-*"]', 'models: []'));
    const { exitCode, out } = await world.run('apply', file, '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(out)).toEqual({
      changes: [],
      dry_run: false,
      faults: [{ line: 13, path: 'groups.vip.models', message: expect.any(String) }],
    });
  });
});

test('a file that is empty, not a mapping, two documents or missing is refused', async () => {
  for (const text of ['', '# nothing\n', '- a\n', 'x\n', 'groups: {}\n---\ngroups: {}\n'])
    expect((await faultsOf(text)).length).toBe(1);
  const { exitCode, error } = await world.run('apply', '/nowhere/turnpike.yaml');
  expect([exitCode, error.includes('cannot read /nowhere/turnpike.yaml')]).toEqual([1, true]);
  expect(world.requests).toEqual([]);
});

describe('the text of a file', () => {
  const read = (text: string) => new YamlReader(text, (name) => (name === 'HOME' ? '/home/x' : undefined));

  test('loses no digit of any number', () => {
    const { document } = read(
      'a: 0.3\nb: 12345678901234567890\nc: 3\nd: 1e-3\ne: .inf\nf: 0x10\ng: 1.10\nh: -0\ni: "5"\nj: 9007199254740991\n',
    );
    expect(document).toEqual({
      a: '0.3',
      b: '12345678901234567890',
      c: 3,
      d: '1e-3',
      e: '.inf',
      f: 16,
      g: '1.10',
      h: 0,
      i: '5',
      j: 9007199254740991,
    });
  });

  test('keeps names as written', () => {
    const { document } = read('4.10: a\n1: b\ntrue: c\n"q": d\n__proto__: e\n');
    expect(Object.entries(document)).toEqual([
      ['1', 'b'],
      ['4.10', 'a'],
      ['true', 'c'],
      ['q', 'd'],
      ['__proto__', 'e'],
    ]);
  });

  test('is expanded in strings only, and once', () => {
    const { document } = read(`a: "\${HOME}/y"\nb: '\${HOME}\${HOME}'\nc: $HOME\nd: $\${HOME}\n\${HOME}: e\n`);
    expect(document).toEqual({ a: '/home/x/y', b: '/home/x/home/x', c: '$HOME', d: '$/home/x', [`\${HOME}`]: 'e' });
  });

  test('may repeat a part with an alias, within a bound', () => {
    expect(read('a: &x { b: 1.5 }\nc: *x\n').document).toEqual({ a: { b: '1.5' }, c: { b: '1.5' } });
    const circle = read('a: &x { b: *x }\n');
    expect(circle.faults[0]?.message).toBeDefined();
    const bomb = `a: &a [${'x,'.repeat(99)}]\n${[...'bcdefg'].map((name, at) => `${name}: &${name} [${`*${'abcdef'[at]},`.repeat(99)}]`).join('\n')}\n`;
    expect(read(bomb).faults.map((fault) => fault.message)).toEqual(['is too large or nested too deeply']);
  });
});
