// The environment of a command in tests: a real admin API on a real socket over stores in memory, its data directory,
// and the captured output. It has no tests of its own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type World } from '../../../src/commands/commands.ts';
import { inspectConfig, readClientConfig, readConfig } from '../../../src/config/config.ts';
import { type Installation, makeInstallation, TOKEN } from '../admin-api/installation.ts';

export interface Ran {
  exitCode: number;
  out: string;
  error: string;
}

export interface CommandWorld extends Disposable {
  installation: Installation;
  directory: string;
  url: string;
  /** The environment variables of commands. */
  environment: Record<string, string>;
  /** Requests that the API has answered: "GET /api/v1/keys". */
  requests: string[];
  run(...given: string[]): Promise<Ran>;
  /** Runs with --json and returns the parsed output. */
  runJson(...given: string[]): Promise<Record<string, unknown>>;
  writeFile(name: string, text: string): string;
  /** Functions that commands cannot call here; a test may replace them. */
  world: Pick<World, 'startServer' | 'checkStore' | 'maintain' | 'confirm'>;
}

export async function makeCommandWorld(): Promise<CommandWorld> {
  const installation = await makeInstallation();
  const requests: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return installation.api.fetch(request, '127.0.0.1');
    },
  });
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-commands-'));
  const url = `http://127.0.0.1:${server.port}`;
  writeFileSync(join(directory, 'operator.json'), JSON.stringify({ url, token: TOKEN }));
  const environment: Record<string, string> = { TURNPIKE_DATA: directory };
  const world: CommandWorld['world'] = {
    startServer: () => Promise.reject(new Error('no server in this test')),
    checkStore: () => Promise.reject(new Error('no store in this test')),
    maintain: () => Promise.reject(new Error('no data directory in this test')),
    confirm: async () => false,
  };
  const run = (...given: string[]) => runIn({ ...world }, environment, given);
  return {
    installation,
    directory,
    url,
    environment,
    requests,
    world,
    run,
    async runJson(...given) {
      const ran = await run(...given, '--json');
      if (ran.exitCode !== 0) throw new Error(`${given.join(' ')}: ${ran.error}`);
      return JSON.parse(ran.out);
    },
    writeFile(name, text) {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    },
    [Symbol.dispose]() {
      server.stop(true);
      rmSync(directory, { recursive: true });
    },
  };
}

async function runIn(
  doors: CommandWorld['world'],
  environment: Record<string, string>,
  given: readonly string[],
): Promise<Ran> {
  const ran = { out: '', error: '' };
  const exitCode = await runCommand(given, {
    ...doors,
    async write(text) {
      ran.out += text;
    },
    async writeError(text) {
      ran.error += text;
    },
    readVersion: () => '1.2.3',
    readNotices: async () => [
      { packages: ['zod 4.6.7', 'hono 4.13.19'], license: 'MIT', text: 'Permission is granted' },
    ],
    readConfig: async (flags) => readConfig(flags, environment),
    inspectConfig: async (flags) => inspectConfig(flags, environment),
    readClientConfig: (flags) => readClientConfig(flags, environment),
    environmentVariable: (name) => (name.startsWith('TURNPIKE_') ? undefined : environment[name]),
  });
  return { exitCode, ...ran };
}
