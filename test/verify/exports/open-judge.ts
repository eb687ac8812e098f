// Python with DuckDB, the validator of FOCUS and moto in an environment of its own, which answers questions one after another.

import { join } from 'node:path';

const INSTALL_MS_MAX = 480_000;

type Answer = Record<string, unknown>;

export interface Judge extends AsyncDisposable {
  /** Throws with what the question failed by. */
  ask(question: { ask: string } & Record<string, unknown>): Promise<Answer>;
  /** The rows of a query of DuckDB, as texts. */
  query(sql: string): Promise<(string | null)[][]>;
  /** A program of the environment. */
  program(name: string): string;
}

/** null where Python or its packages cannot be had. TURNPIKE_PYTHON_VENV names an environment that has them. */
export async function openJudge(directory: string): Promise<Judge | null> {
  const given = process.env['TURNPIKE_PYTHON_VENV'];
  const environment = given ?? join(directory, 'venv');
  const python = join(environment, 'bin', 'python');
  const requirements = join(import.meta.dir, 'requirements.txt');
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-compile', '--disable-pip-version-check'];
  const isThere =
    given !== undefined ||
    ((await isDone(['python3', '-m', 'venv', environment])) && (await isDone([python, ...pip, '-r', requirements])));
  return isThere ? startJudge(environment) : null;
}

async function isDone(command: string[]): Promise<boolean> {
  try {
    return (await Bun.spawn(command, { stdin: 'ignore', timeout: INSTALL_MS_MAX }).exited) === 0;
  } catch {
    return false; // no such program
  }
}

async function startJudge(environment: string): Promise<Judge> {
  const script = join(import.meta.dir, 'judge.py');
  const program = (name: string) => join(environment, 'bin', name);
  const command = [program('python'), '-W', 'ignore', script];
  const child = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  const lines = readLines(child.stdout);
  const next = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the judge ended');
    return JSON.parse(value) as Answer;
  };
  await next(); // it has started
  const ask: Judge['ask'] = async (question) => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    await child.stdin.flush();
    const answer = await next();
    if ('failure' in answer) throw new Error(String(answer['failure']));
    return answer;
  };
  return {
    ask,
    query: async (sql) => (await ask({ ask: 'query', sql }))['rows'] as (string | null)[][],
    program,
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
