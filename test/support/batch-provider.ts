// A provider on loopback that runs batches, in the dialects of Anthropic, OpenAI and Gemini. It answers each request of a batch when the
// batch is let go, in another order than it was asked in, and shows what it was asked. https://platform.claude.com/docs/en/api/messages/batches,
// https://developers.openai.com/api/reference/resources/batches, https://ai.google.dev/api/batch-api (2026-11-30)

import { upstreamMessage } from './scripted-upstream.ts';

type Json = Record<string, unknown>;
export type BatchAnswer = { status: number; body: Json } | null;

export interface GivenBatch {
  dialect: 'anthropic' | 'openai' | 'gemini';
  ref: string;
  name: string;
  headers: Headers;
  requests: { id: string; url: string; body: Json }[];
  status: 'running' | 'canceling' | 'ended';
  results: { id: string; answer: BatchAnswer }[];
}

export interface BatchProvider extends AsyncDisposable {
  url: string;
  batches: GivenBatch[];
  /** Requests outside of batches. */
  direct: Json[];
  /** Files that exist. */
  files: Map<string, string>;
  /** Paths of batches and files that were removed. */
  removed: string[];
  /** Before an answer to a creation; what it throws is an answer. */
  onCreate: (batch: GivenBatch) => void | Promise<void>;
  /** The answer to a request. null: it was not executed. */
  answer: (dialect: GivenBatch['dialect'], body: Json, id: string) => BatchAnswer;
  /** Ends batches that run, now and later. */
  letGo(): void;
  reset(): void;
}

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
};

/** A refusal of a request. */
export const REFUSED: Readonly<Record<GivenBatch['dialect'], BatchAnswer>> = {
  anthropic: { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: 'No.' } } },
  openai: { status: 400, body: { error: { type: 'invalid_request_error', message: 'No.' } } },
  gemini: { status: 400, body: {} },
};

export function startBatchProvider(): BatchProvider {
  const state = { isLetGo: false, made: 0 };
  const inputs = new Map<string, string>();
  const provider: Omit<BatchProvider, 'url' | typeof Symbol.asyncDispose> = {
    batches: [],
    direct: [],
    files: new Map(),
    removed: [],
    onCreate: () => {},
    answer: (dialect) => ({ status: 200, body: GOOD[dialect] }),
    letGo() {
      state.isLetGo = true;
      for (const batch of provider.batches) end(batch);
    },
    reset() {
      state.isLetGo = false;
      provider.batches.length = 0;
      provider.direct.length = 0;
      provider.removed.length = 0;
      provider.onCreate = () => {};
      provider.answer = (dialect) => ({ status: 200, body: GOOD[dialect] });
    },
  };

  function end(batch: GivenBatch): void {
    if (batch.status === 'ended') return;
    batch.status = 'ended';
    const { dialect } = batch;
    batch.results = batch.requests
      .map(({ id, body }) => ({ id, answer: provider.answer(dialect, body, id) }))
      .reverse();
  }

  async function add(given: Pick<GivenBatch, 'dialect' | 'name' | 'headers' | 'requests'>): Promise<GivenBatch> {
    const batch: GivenBatch = {
      ...given,
      ref: `${REFS[given.dialect]}${++state.made}`,
      status: 'running',
      results: [],
    };
    await provider.onCreate(batch);
    provider.batches.push(batch);
    if (state.isLetGo) end(batch);
    return batch;
  }

  const find = (ref: string) => provider.batches.find((batch) => batch.ref === ref);

  async function anthropic(request: Request, [ref, what]: string[]): Promise<Response> {
    if (ref === undefined && request.method === 'POST') {
      const body = (await request.json()) as { requests: { custom_id: string; params: Json }[] };
      const requests = body.requests.map(({ custom_id: id, params }) => ({ id, url: '/v1/messages', body: params }));
      return Response.json(
        showMessages(await add({ dialect: 'anthropic', name: '', headers: request.headers, requests })),
      );
    }
    if (ref === undefined)
      return Response.json({
        data: provider.batches.filter(({ dialect }) => dialect === 'anthropic').map(showMessages),
      });
    const batch = find(ref);
    if (batch === undefined) return missing();
    if (what === 'cancel') end(batch);
    if (what === 'results')
      return lines(batch.results.map(({ id, answer }) => ({ custom_id: id, result: resultOf(answer) })));
    if (request.method === 'DELETE') return remove(batch);
    return Response.json(showMessages(batch));
  }

  function remove(batch: GivenBatch): Response {
    provider.removed.push(batch.ref);
    provider.batches.splice(provider.batches.indexOf(batch), 1);
    return Response.json({ deleted: true });
  }

  async function openAiFiles(request: Request, [id]: string[]): Promise<Response> {
    if (id === undefined) {
      const file = (await request.formData()).get('file') as File;
      const name = `file-${++state.made}`;
      provider.files.set(name, await file.text());
      return Response.json({ id: name });
    }
    const content = provider.files.get(id);
    if (content === undefined) return missing();
    if (request.method !== 'DELETE') return new Response(content);
    provider.files.delete(id);
    provider.removed.push(id);
    return Response.json({ deleted: true });
  }

  async function openAi(request: Request, [ref, what]: string[]): Promise<Response> {
    if (ref === undefined && request.method === 'POST') {
      const body = (await request.json()) as { input_file_id: string; endpoint: string; metadata: Json };
      const text = provider.files.get(body.input_file_id) ?? '';
      const parsed = text.split('\n').map((line) => JSON.parse(line) as { custom_id: string; url: string; body: Json });
      const requests = parsed.map(({ custom_id: id, url, body: one }) => ({ id, url, body: one }));
      const name = String(body.metadata['turnpike_batch']);
      const batch = await add({ dialect: 'openai', name, headers: request.headers, requests });
      inputs.set(batch.ref, body.input_file_id);
      return Response.json(showFile(batch));
    }
    if (ref === undefined)
      return Response.json({ data: provider.batches.filter(({ dialect }) => dialect === 'openai').map(showFile) });
    const batch = find(ref);
    if (batch === undefined) return missing();
    if (what === 'cancel') end(batch);
    return Response.json(showFile(batch));
  }

  function showFile(batch: GivenBatch): Json {
    const { ref: id, status, name, results } = batch;
    if (status === 'ended' && !provider.removed.includes(`out-${id}`)) {
      const rows = results.map(({ id: custom_id, answer }) => ({
        custom_id,
        response: answer && { status_code: answer.status, request_id: 'r', body: answer.body },
        error: answer === null ? { code: 'batch_expired' } : null,
      }));
      const isGood = (row: (typeof rows)[number]) => row.response?.status_code === 200;
      provider.files.set(
        `out-${id}`,
        rows
          .filter(isGood)
          .map((row) => JSON.stringify(row))
          .join('\n'),
      );
      provider.files.set(
        `err-${id}`,
        rows
          .filter((row) => !isGood(row))
          .map((row) => JSON.stringify(row))
          .join('\n'),
      );
    }
    const files = status === 'ended' ? { output_file_id: `out-${id}`, error_file_id: `err-${id}` } : {};
    return {
      id,
      status: { running: 'in_progress', canceling: 'cancelling', ended: 'completed' }[status],
      metadata: { turnpike_batch: name },
      input_file_id: inputs.get(id),
      ...files,
    };
  }

  async function gemini(request: Request, path: string): Promise<Response> {
    if (path.endsWith(':batchGenerateContent')) {
      type Inline = { request: Json; metadata: { key: string } };
      const { batch } = (await request.json()) as {
        batch: { displayName: string; inputConfig: { requests: { requests: Inline[] } } };
      };
      const requests = batch.inputConfig.requests.requests.map((one) => ({
        id: one.metadata.key,
        url: path,
        body: one.request,
      }));
      return Response.json(
        showContent(await add({ dialect: 'gemini', name: batch.displayName, headers: request.headers, requests })),
      );
    }
    const [ref = '', action] = path.replace(/^.*\/(batches)/, '$1').split(':');
    if (ref === 'batches')
      return Response.json({
        operations: provider.batches.filter(({ dialect }) => dialect === 'gemini').map(showContent),
      });
    const batch = find(ref);
    if (batch === undefined) return missing();
    if (action === 'cancel') end(batch);
    return request.method === 'DELETE' ? remove(batch) : Response.json(showContent(batch));
  }

  async function handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const after = (start: string) => pathname.slice(start.length).split('/').filter(Boolean);
    if (pathname.startsWith('/v1/messages/batches')) return anthropic(request, after('/v1/messages/batches'));
    if (pathname.startsWith('/v1/batches')) return openAi(request, after('/v1/batches'));
    if (pathname.startsWith('/v1/files')) {
      const [id] = after('/v1/files');
      return openAiFiles(request, id === undefined ? [] : [id]);
    }
    if (pathname.includes('/batches') || pathname.endsWith(':batchGenerateContent')) return gemini(request, pathname);
    const body = (await request.json()) as Json;
    provider.direct.push(body);
    const dialect = pathname === '/v1/messages' ? 'anthropic' : pathname.startsWith('/v1/') ? 'openai' : 'gemini';
    return Response.json(GOOD[dialect]);
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) =>
      handle(request).catch((thrown) => (thrown instanceof Response ? thrown : Promise.reject(thrown))),
  });
  return Object.assign(provider, {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  });
}

const REFS = { anthropic: 'msgbatch_upstream', openai: 'batch_upstream', gemini: 'batches/upstream' };

function showMessages({ ref: id, status, requests }: GivenBatch): Json {
  const counts = {
    processing: status === 'ended' ? 0 : requests.length,
    succeeded: status === 'ended' ? requests.length : 0,
  };
  return { id, processing_status: status === 'running' ? 'in_progress' : status, request_counts: counts };
}

function resultOf(answer: BatchAnswer): Json {
  if (answer === null) return { type: 'expired' };
  return answer.status === 200 ? { type: 'succeeded', message: answer.body } : { type: 'errored', error: answer.body };
}

function showContent({ ref: name, name: displayName, status, results }: GivenBatch): Json {
  const inlinedResponses = results.map(({ id: key, answer }) => ({
    metadata: { key },
    ...(answer === null || answer.status !== 200
      ? { error: { code: answer === null ? 4 : 3, message: 'No.' } }
      : { response: answer.body }),
  }));
  const done = status === 'ended' ? { done: true, response: { inlinedResponses: { inlinedResponses } } } : {};
  return { name, metadata: { displayName }, ...done };
}

function lines(rows: readonly object[]): Response {
  return new Response(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

function missing(): Response {
  return Response.json({ error: { message: 'There is no such object.' } }, { status: 404 });
}
