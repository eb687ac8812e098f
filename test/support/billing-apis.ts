// The billing APIs of Anthropic, OpenAI and AWS on a loopback address, in pages of one day. They check the credential, and
// fail on request.

const DAY_MS = 86_400_000;

export interface BillingApis extends AsyncDisposable {
  url: string;
  /** Paths with their queries, in order; for AWS the body. */
  asked: string[];
  /** Statuses with which the next requests are refused. */
  failures: number[];
  /** Replaces the next answers. */
  answers: string[];
}

export const ADMIN_KEYS = {
  anthropic: 'sk-ant-admin-1',
  openai: 'sk-admin-1',
  aws: JSON.stringify({ accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' }),
};

export async function startBillingApis(): Promise<BillingApis> {
  const state = { asked: [] as string[], failures: [] as number[], answers: [] as string[] };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const body = await request.text();
      state.asked.push(body || `${url.pathname}${url.search}`);
      const failure = state.failures.shift();
      if (failure !== undefined) return new Response('{}', { status: failure, headers: { 'retry-after': '0' } });
      const answer = state.answers.shift();
      if (answer !== undefined) return new Response(answer);
      return reply(request, url, body);
    },
  });
  return {
    ...{ url: `http://127.0.0.1:${server.port}`, ...state },
    [Symbol.asyncDispose]: async () => void (await server.stop(true)),
  };
}

function reply({ headers }: Request, url: URL, body: string): Response {
  const { pathname, searchParams } = url;
  if (pathname.startsWith('/v1/organizations/')) {
    if (headers.get('x-api-key') !== ADMIN_KEYS.anthropic) return new Response('{}', { status: 401 });
    const results = pathname.endsWith('cost_report') ? anthropicCosts : anthropicUsage;
    return ofDays(searchParams.get('starting_at'), searchParams.get('ending_at'), searchParams.get('page'), (ms) => ({
      starting_at: new Date(ms).toISOString(),
      ending_at: new Date(ms + DAY_MS).toISOString(),
      results,
    }));
  }
  if (pathname.startsWith('/v1/organization/')) {
    if (headers.get('authorization') !== `Bearer ${ADMIN_KEYS.openai}`) return new Response('{}', { status: 401 });
    const results = pathname.endsWith('/costs') ? openaiCosts : openaiUsage;
    const timeOf = (name: string) => new Date(Number(searchParams.get(name)) * 1_000).toISOString();
    return ofDays(
      timeOf('start_time'),
      timeOf('end_time'),
      searchParams.get('page'),
      (ms) => ({
        object: 'bucket',
        start_time: ms / 1_000,
        end_time: (ms + DAY_MS) / 1_000,
        results: '@results',
      }),
      results,
    );
  }
  return amazonReply(headers, body);
}

/** A page has one day. Numbers of OpenAI's results are written as texts, so that their digits are those of the vendor. */
function ofDays(
  start: string | null,
  end: string | null,
  page: string | null,
  bucket: (ms: number) => object,
  raw = '',
) {
  const ms = page === null ? Date.parse(start ?? '') : Number(page);
  const next = ms + DAY_MS;
  const hasMore = next < Date.parse(end ?? '');
  const answer = { data: [bucket(ms)], has_more: hasMore, next_page: hasMore ? String(next) : null };
  return new Response(JSON.stringify(answer).replace('"@results"', raw));
}

const anthropicCost = { currency: 'USD', cost_type: 'tokens', context_window: '0-200k', service_tier: 'standard' };
const anthropicCosts = [
  { ...anthropicCost, amount: '123.78912', model: 'claude-haiku-4-5-20251001', token_type: 'output_tokens' },
  { ...anthropicCost, amount: '0.5', model: 'claude-haiku-4-5-20251001', token_type: 'uncached_input_tokens' },
  { ...anthropicCost, amount: '1', cost_type: 'web_search', model: null, token_type: null, service_tier: null },
];
const anthropicUsage = [
  {
    model: 'claude-haiku-4-5-20251001',
    service_tier: 'standard',
    uncached_input_tokens: 5_000,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 7 },
    output_tokens: 247_578,
    server_tool_use: { web_search_requests: 1 },
  },
];

const openaiCosts = `[
  {"object":"organization.costs.result","amount":{"value":0.13080438340307526,"currency":"usd"},"line_item":"gpt-5, input"},
  {"object":"organization.costs.result","amount":{"value":1.5e-6,"currency":"usd"},"line_item":"gpt-5, cached input"},
  {"object":"organization.costs.result","amount":{"value":2,"currency":"usd"},"line_item":"gpt-5, output"}]`;
const openaiUsage = `[{"object":"organization.usage.completions.result","model":"gpt-5","batch":false,"service_tier":"default",
  "input_tokens":1000,"input_cached_tokens":400,"output_tokens":200,"num_model_requests":3}]`;

function amazonReply(headers: Headers, body: string): Response {
  const isSigned = /Credential=AKIAEXAMPLE\/\d{8}\/us-east-1\/ce\/aws4_request/.test(
    headers.get('authorization') ?? '',
  );
  if (!isSigned || headers.get('x-amz-target') !== 'AWSInsightsIndexService.GetCostAndUsage')
    return new Response('{}', { status: 403 });
  const { TimePeriod: period, NextPageToken: token } = JSON.parse(body) as Record<
    string,
    { Start: string; End: string }
  >;
  const start = (token as unknown as string | undefined) ?? period?.Start ?? '';
  const next = new Date(Date.parse(start) + DAY_MS).toISOString().slice(0, 10);
  const group = (service: string, type: string, amount: string, used: string, unit: string) => ({
    Keys: [service, type],
    Metrics: { UnblendedCost: { Amount: amount, Unit: 'USD' }, UsageQuantity: { Amount: used, Unit: unit } },
  });
  const result = {
    TimePeriod: { Start: start, End: next },
    Groups: [
      group('Amazon Bedrock', 'USE1-Claude4.6Sonnet-output-tokens', '0.0150000001', '1', '1K tokens'),
      group('Amazon Elastic Compute Cloud - Compute', 'BoxUsage:t3', '4', '24', 'Hrs'),
    ],
  };
  return Response.json({ ResultsByTime: [result], ...(next < (period?.End ?? '') && { NextPageToken: next }) });
}
