// Python with botocore in an environment of its own, which answers questions one after another.

import { join } from 'node:path';

const INSTALL_MS_MAX = 240_000;

export interface Frame {
  headers: Record<string, string>;
  payload: string;
}

export interface Judge extends AsyncDisposable {
  ask(question: { ask: string } & Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** null where Python or its packages cannot be had. */
export async function openJudge(directory: string): Promise<Judge | null> {
  const python = join(directory, 'venv', 'bin', 'python');
  const requirements = join(import.meta.dir, 'requirements.txt');
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-compile', '--disable-pip-version-check'];
  const isThere =
    (await isDone(['python3', '-m', 'venv', join(directory, 'venv')])) &&
    (await isDone([python, ...pip, '-r', requirements]));
  return isThere ? startJudge(python) : null;
}

async function isDone(command: string[]): Promise<boolean> {
  try {
    return (await Bun.spawn(command, { stdin: 'ignore', timeout: INSTALL_MS_MAX }).exited) === 0;
  } catch {
    return false; // no such program
  }
}

async function startJudge(python: string): Promise<Judge> {
  const script = join(import.meta.dir, 'judge.py');
  const child = Bun.spawn([python, '-W', 'ignore', script], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  const lines = readLines(child.stdout);
  const next = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the process with botocore ended');
    return JSON.parse(value) as Record<string, unknown>;
  };
  await next(); // it has started
  return {
    async ask(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      await child.stdin.flush();
      return await next();
    },
    async [Symbol.asyncDispose]() {
      await child.stdin.end();
      await child.exited;
    },
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      yield rest.slice(0, end);
      rest = rest.slice(end + 1);
    }
  }
}
