// A provider on loopback that runs batches, in the dialects of Anthropic, OpenAI and Gemini. It answers each request of a batch when the
// batch is let go, in another order than it was asked in, and shows what it was asked. https://platform.claude.com/docs/en/api/messages/batches,
// https://developers.openai.com/api/reference/resources/batches, https://ai.google.dev/api/batch-api (2026-11-30)

import { type AskedJob, type Cloud, ObjectStore, readJob, resultLines, showJob } from './batch-clouds.ts';
import { upstreamMessage } from './scripted-upstream.ts';

type Json = Record<string, unknown>;
export type BatchAnswer = { status: number; body: Json } | null;

export interface GivenBatch {
  dialect: 'anthropic' | 'openai' | 'gemini' | Cloud;
  ref: string;
  name: string;
  /** At clouds, whose requests do not name it. */
  model?: string;
  requests: { id: string; url: string; body: Json }[];
  status: 'running' | 'ended';
  results: { id: string; answer: BatchAnswer }[];
}

export type BatchProvider = FakeBatches;

const CHAT = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-test',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 25, completion_tokens: 12, total_tokens: 37 },
};
const CONTENT = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 25, candidatesTokenCount: 12, totalTokenCount: 37 },
};
/** Answers of 25 and 12 tokens. */
export const GOOD: Readonly<Record<GivenBatch['dialect'], Json>> = {
  anthropic: upstreamMessage(),
  openai: CHAT,
  gemini: CONTENT,
  bedrock: upstreamMessage(),
  vertex: CONTENT,
};

/** The same by Converse. */
export const CONVERSED: Json = {
  output: { message: { role: 'assistant', content: [{ text: 'Hi.' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 25, outputTokens: 12, totalTokens: 37 },
};

/** A refusal of a request. */
export const REFUSED: Readonly<Record<GivenBatch['dialect'], BatchAnswer>> = {
  anthropic: { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: 'No.' } } },
  openai: { status: 400, body: { error: { type: 'invalid_request_error', message: 'No.' } } },
  gemini: { status: 400, body: {} },
  bedrock: { status: 400, body: {} },
  vertex: { status: 400, body: {} },
};

/** Its port is open until it is disposed. */
export class FakeBatches implements AsyncDisposable {
  readonly url: string;
  readonly batches: GivenBatch[] = [];
  /** Requests outside of batches. */
  readonly direct: Json[] = [];
  /** Contents of files that exist, by their ids. */
  readonly files = new Map<string, string>();
  /** Ids of batches and files, and paths of objects, that were removed. */
  readonly removed: string[] = [];
  /** How often a batch was asked about. */
  asked = 0;
  /** It accepts requests, and never answers. */
  isSilent = false;
  /** Called before the answer to a creation; a response that it throws is the answer. */
  onCreate: (batch: GivenBatch) => void | Promise<void> = () => {};
  /** The same for a cancellation. */
  onCancel: (batch: GivenBatch) => void = () => {};
  /** Called before the answer to a request outside of batches. */
  onDirect: (body: Json) => void | Promise<void> = () => {};
  /** Changes the results of a batch as they are written, lines of JSON. */
  rewrite: (lines: string) => string = asItIs;
  /** The answer to a request. null: it was not executed. */
  answer: (dialect: GivenBatch['dialect'], body: Json, id: string) => BatchAnswer = answerWell;
  /** The results of a batch that has ended, as its readers get them. */
  tell: (results: GivenBatch['results'], batch: GivenBatch) => GivenBatch['results'] = (results) => results;
  readonly #server: Bun.Server<undefined> | null;
  readonly #inputs = new Map<string, string>();
  /** The buckets of clouds. */
  readonly store = new ObjectStore(this.files, this.removed);
  /** Where the results of jobs are written. */
  readonly #outputs = new Map<string, string>();
  #isLetGo = false;
  #made = 0;

  /** `hasPort`: false: requests come by `take` alone. */
  constructor(hasPort = true) {
    const fetch = (request: Request) => this.take(request);
    this.#server = hasPort ? Bun.serve({ hostname: '127.0.0.1', port: 0, fetch }) : null;
    this.url = `http://127.0.0.1:${this.#server?.port}`;
  }

  take(request: Request): Promise<Response> {
    return this.#handle(request).catch((thrown) => {
      if (thrown instanceof Response) return thrown;
      throw thrown;
    });
  }

  /** Ends batches that run, now and later. */
  letGo(): void {
    this.#isLetGo = true;
    for (const batch of this.batches) this.end(batch);
  }

  reset(): void {
    this.#isLetGo = false;
    for (const list of [this.batches, this.direct, this.removed]) list.length = 0;
    this.isSilent = false;
    this.files.clear();
    this.store.alsoListed.length = 0;
    this.store.refused = [];
    this.store.movedTo = null;
    this.onCreate = () => {};
    this.onCancel = () => {};
    this.onDirect = () => {};
    this.rewrite = asItIs;
    this.answer = answerWell;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.stop(true);
  }

  async #handle(request: Request): Promise<Response> {
    if (this.isSilent) {
      this.asked++;
      await Promise.withResolvers().promise;
    }
    const { pathname } = new URL(request.url);
    const after = (start: string) => pathname.slice(start.length).split('/').filter(Boolean);
    if (pathname.startsWith('/store/'))
      return this.store.answer(request, decodeURIComponent(pathname.slice('/store/'.length)));
    if (pathname === '/model-invocation-jobs') return this.#cloud('bedrock', request, []);
    if (pathname.startsWith('/model-invocation-job'))
      return this.#cloud('bedrock', request, after('/model-invocation-job'));
    if (pathname.includes('/batchPredictionJobs'))
      return this.#cloud(
        'vertex',
        request,
        pathname
          .replace(/^.*\/batchPredictionJobs/, '')
          .split(/[/:]/)
          .filter(Boolean),
      );
    if (pathname.startsWith('/v1/messages/batches')) return this.#anthropic(request, after('/v1/messages/batches'));
    if (pathname.startsWith('/v1/batches')) return this.#openAi(request, after('/v1/batches'));
    if (pathname.startsWith('/v1/files')) return this.#openAiFiles(request, after('/v1/files'));
    if (pathname.includes('/batches') || pathname.endsWith(':batchGenerateContent'))
      return this.#gemini(request, pathname);
    const body = (await request.json()) as Json;
    this.direct.push(body);
    await this.onDirect(body);
    return Response.json(GOOD[DIRECT.find(([path]) => path.test(pathname))?.[1] ?? 'gemini']);
  }

  async #anthropic(request: Request, [ref, what]: string[]): Promise<Response> {
    if (ref === undefined && request.method === 'POST') {
      const body = (await request.json()) as { requests: { custom_id: string; params: Json }[] };
      const requests = body.requests.map(({ custom_id: id, params }) => ({ id, url: '/v1/messages', body: params }));
      return Response.json(showMessages(await this.#add({ dialect: 'anthropic', name: '', requests })));
    }
    if (ref === undefined) return Response.json({ data: this.#of('anthropic').map(showMessages) });
    const batch = this.#find(ref);
    if (what === 'cancel') this.#cancel(batch);
    if (what === 'results') return new Response(this.rewrite(lines(batch.results.map(showMessagesResult))));
    return request.method === 'DELETE' ? this.#remove(batch) : Response.json(showMessages(batch));
  }

  async #openAiFiles(request: Request, [id]: string[]): Promise<Response> {
    if (id === undefined) {
      const file = (await request.formData()).get('file') as File;
      const name = `file-${++this.#made}`;
      this.files.set(name, await file.text());
      return Response.json({ id: name });
    }
    const content = this.files.get(id);
    if (content === undefined) throw missing();
    if (request.method !== 'DELETE') return new Response(content);
    this.files.delete(id);
    this.removed.push(id);
    return Response.json({ deleted: true });
  }

  async #openAi(request: Request, [ref, what]: string[]): Promise<Response> {
    if (ref === undefined && request.method === 'POST') {
      const body = (await request.json()) as { input_file_id: string; metadata: Json };
      const text = this.files.get(body.input_file_id) ?? '';
      const parsed = text.split('\n').map((line) => JSON.parse(line) as { custom_id: string; url: string; body: Json });
      const requests = parsed.map(({ custom_id: id, url, body: one }) => ({ id, url, body: one }));
      const batch = await this.#add({ dialect: 'openai', name: String(body.metadata['turnpike_batch']), requests });
      this.#inputs.set(batch.ref, body.input_file_id);
      return Response.json(this.#showFile(batch));
    }
    if (ref === undefined) return Response.json({ data: this.#of('openai').map((batch) => this.#showFile(batch)) });
    const batch = this.#find(ref);
    if (what === 'cancel') this.#cancel(batch);
    return Response.json(this.#showFile(batch));
  }

  #showFile({ ref: id, status: state, name, results }: GivenBatch): Json {
    const status = { running: 'in_progress', ended: 'completed' }[state];
    const shown = { id, status, metadata: { turnpike_batch: name }, input_file_id: this.#inputs.get(id) };
    if (state === 'running') return shown;
    const [output, errors] = [`out-${id}`, `err-${id}`];
    if (!this.removed.includes(output)) {
      const rows = results.map(({ id: custom_id, answer }) => ({
        custom_id,
        response: answer && { status_code: answer.status, request_id: 'r', body: answer.body },
        error: answer === null ? { code: 'batch_expired' } : null,
      }));
      const textOf = (isGood: boolean) =>
        rows
          .filter(({ response }) => (response?.status_code === 200) === isGood)
          .map((row) => JSON.stringify(row))
          .join('\n');
      this.files.set(output, this.rewrite(textOf(true)));
      this.files.set(errors, textOf(false));
    }
    return { ...shown, output_file_id: output, error_file_id: errors };
  }

  async #gemini(request: Request, path: string): Promise<Response> {
    if (path.endsWith(':batchGenerateContent')) {
      const { batch: asked } = (await request.json()) as { batch: ContentBatch };
      const requests = asked.inputConfig.requests.requests.map(({ request: body, metadata }) => ({
        id: metadata.key,
        url: path,
        body,
      }));
      return Response.json(showContent(await this.#add({ dialect: 'gemini', name: asked.displayName, requests })));
    }
    const [ref = '', action] = path.replace(/^.*\/(batches)/, '$1').split(':');
    if (ref === 'batches') return Response.json({ operations: this.#of('gemini').map(showContent) });
    const batch = this.#find(ref);
    if (action === 'cancel') this.#cancel(batch);
    return request.method === 'DELETE' ? this.#remove(batch) : Response.json(showContent(batch));
  }

  async #cloud(dialect: Cloud, request: Request, [ref, action]: string[]): Promise<Response> {
    if (ref === undefined && request.method === 'POST') {
      const { results, ...job } = readJob(dialect, (await request.json()) as Json, this.store);
      const made = this.#of(dialect).find(({ name }) => dialect === 'bedrock' && name === job.name);
      return Response.json(showJob(made ?? (await this.#add({ dialect, ...job }, results))));
    }
    const jobs = this.#of(dialect).map(showJob);
    if (ref === undefined) return Response.json({ invocationJobSummaries: jobs, batchPredictionJobs: jobs });
    const batch = this.#find(ref);
    if (action === 'stop' || action === 'cancel') this.#cancel(batch);
    return request.method === 'DELETE' ? this.#remove(batch) : Response.json(showJob(batch));
  }

  async #add(
    given: Pick<GivenBatch, 'dialect' | 'name' | 'requests'> & Partial<AskedJob>,
    output?: string,
  ): Promise<GivenBatch> {
    const batch: GivenBatch = {
      ...given,
      ref: `${REFS[given.dialect]}${++this.#made}`,
      status: 'running',
      results: [],
    };
    if (output !== undefined) this.#outputs.set(batch.ref, output);
    await this.onCreate(batch);
    this.batches.push(batch);
    if (this.#isLetGo) this.end(batch);
    return batch;
  }

  #cancel(batch: GivenBatch): void {
    this.onCancel(batch);
    this.end(batch);
  }

  end(batch: GivenBatch): void {
    if (batch.status === 'ended') return;
    batch.status = 'ended';
    const { dialect, requests } = batch;
    const answers = requests.map(({ id, body }) => ({ id, answer: this.answer(dialect, body, id) })).reverse();
    batch.results = this.tell(answers, batch);
    const output = this.#outputs.get(batch.ref);
    if (output !== undefined) this.files.set(output, this.rewrite(resultLines(batch)));
  }

  #of(dialect: GivenBatch['dialect']): GivenBatch[] {
    return this.batches.filter((batch) => batch.dialect === dialect);
  }

  #find(ref: string): GivenBatch {
    this.asked++;
    const batch = this.batches.find((one) => one.ref === ref);
    if (batch === undefined) throw missing();
    return batch;
  }

  #remove(batch: GivenBatch): Response {
    this.removed.push(batch.ref);
    this.batches.splice(this.batches.indexOf(batch), 1);
    return Response.json({ deleted: true });
  }
}

export function startBatchProvider(): BatchProvider {
  return new FakeBatches();
}

interface ContentBatch {
  displayName: string;
  inputConfig: { requests: { requests: { request: Json; metadata: { key: string } }[] } };
}

function answerWell(dialect: GivenBatch['dialect']): BatchAnswer {
  return { status: 200, body: GOOD[dialect] };
}

const REFS = {
  anthropic: 'msgbatch_upstream',
  openai: 'batch_upstream',
  gemini: 'batches/upstream',
  bedrock: '1a2b3c',
  vertex: '4567',
};
/** The answers to requests outside of batches; others get Gemini's. */
const DIRECT: readonly [path: RegExp, dialect: GivenBatch['dialect']][] = [
  [/^\/v1\/messages$|:rawPredict$/, 'anthropic'],
  [/^\/model\//, 'bedrock'],
  [/^\/v1\/projects\//, 'vertex'],
  [/^\/v1\//, 'openai'],
];

function showMessages({ ref: id, status, requests }: GivenBatch): Json {
  const counts = {
    processing: status === 'ended' ? 0 : requests.length,
    succeeded: status === 'ended' ? requests.length : 0,
  };
  const created_at = new Date(Date.now()).toISOString();
  return { id, created_at, processing_status: status === 'running' ? 'in_progress' : status, request_counts: counts };
}

function resultOf(answer: BatchAnswer): Json {
  if (answer === null) return { type: 'expired' };
  return answer.status === 200 ? { type: 'succeeded', message: answer.body } : { type: 'errored', error: answer.body };
}

function showContent({ ref: name, name: displayName, status, results }: GivenBatch): Json {
  const inlinedResponses = results.map(({ id: key, answer }) => ({
    metadata: { key },
    ...(answer === null || answer.status !== 200
      ? { error: { code: answer === null ? 1 : answer.status === 500 ? 13 : 3, message: 'No.' } }
      : { response: answer.body }),
  }));
  const done = status === 'ended' ? { done: true, response: { inlinedResponses: { inlinedResponses } } } : {};
  return { name, metadata: { displayName }, ...done };
}

function showMessagesResult({ id, answer }: GivenBatch['results'][number]): Json {
  return { custom_id: id, result: resultOf(answer) };
}

function lines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

function asItIs(text: string): string {
  return text;
}

function missing(): Response {
  return Response.json({ error: { message: 'There is no such object.' } }, { status: 404 });
}
