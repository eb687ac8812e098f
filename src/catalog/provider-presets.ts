// Presets of well-known providers: the members of each for an applied file, and what its operator has to fill in.

import { SANDBOX_KIND } from './document.ts';
import { authTypesOfKind, defaultBaseUrl, membersOfKind } from './read-provider.ts';

/** A part of the address that the operator knows. */
interface PresetField {
  /** Stands in the address as {name}. */
  name: string;
  label: string;
  description: string;
  example: string;
  /** Suggested; absent: none. */
  default?: string;
}

export interface ProviderPreset {
  id: string;
  title: string;
  kind: string;
  /** The address, with {names} of `fields`; null: that of the kind, which may follow from its region. */
  baseUrl: string | null;
  fields: readonly PresetField[];
  /** Members that the kind needs besides. */
  needs: readonly ('region' | 'project')[];
  /** Ways to authenticate, the usual one first: "api_key", types of `auth`, or "none". */
  auth: readonly string[];
  /** Runs in a private network. */
  isLocal: boolean;
  /** One sentence: what is to be done at the provider. */
  setUp: string;
  docs: string;
  /** The day on which address and documentation were read. */
  asOf: string;
}

type Given = Pick<ProviderPreset, 'id' | 'title' | 'kind' | 'setUp' | 'docs'> & {
  baseUrl?: string;
  fields?: readonly PresetField[];
  auth?: readonly string[];
  asOf?: string;
};

const READ_ON = '2026-11-30';

function preset({ baseUrl, fields = [], auth, asOf = READ_ON, ...given }: Given): ProviderPreset {
  const types = authTypesOfKind(given.kind).map(({ type }) => type);
  return {
    ...given,
    baseUrl: baseUrl ?? defaultBaseUrl(given.kind),
    fields,
    needs: membersOfKind(given.kind),
    auth: auth ?? (given.kind === SANDBOX_KIND ? ['none'] : ['api_key', ...types]),
    isLocal: false,
    asOf,
  };
}

/** A provider of Chat Completions. */
function hosted(id: string, title: string, baseUrl: string, keys: string, docs: string): ProviderPreset {
  return preset({ id, title, kind: 'openai', baseUrl, setUp: `Create an API key at ${keys}.`, docs });
}

const OWN_HOST =
  'Its name or address as this service reaches it. From a container, host.docker.internal or the name of its service.';

/** A server on a machine of the operator. Most accept requests without a key. */
function local(id: string, title: string, port: number, setUp: string, docs: string): ProviderPreset {
  const host = {
    name: 'host',
    label: 'Host and port',
    description: OWN_HOST,
    example: `10.0.0.5:${port}`,
    default: `127.0.0.1:${port}`,
  };
  const address = { baseUrl: 'http://{host}/v1', fields: [host], auth: ['none', 'api_key', 'env', 'file'] };
  return { ...preset({ id, title, kind: 'openai', ...address, setUp, docs }), isLocal: true };
}

const URL_FIELD = {
  name: 'url',
  label: 'Address',
  description: 'Base URL of the API.',
  example: 'https://api.example.com/v1',
};

/** Most requested first; then by place: vendors, routers and hosts, clouds, own servers, any other. */
export const providerPresets: readonly ProviderPreset[] = [
  preset({
    id: 'anthropic',
    title: 'Anthropic',
    kind: 'anthropic',
    setUp: 'Create an API key at https://platform.claude.com/settings/keys.',
    docs: 'https://platform.claude.com/docs/en/api/overview',
  }),
  preset({
    id: 'openai',
    title: 'OpenAI',
    kind: 'openai-responses',
    setUp: 'Create an API key at https://platform.openai.com/api-keys.',
    docs: 'https://platform.openai.com/docs/api-reference/authentication',
  }),
  preset({
    id: 'gemini',
    title: 'Google Gemini',
    kind: 'gemini',
    setUp: 'Create an API key at https://aistudio.google.com/apikey.',
    docs: 'https://ai.google.dev/gemini-api/docs/api-key',
  }),
  hosted(
    'openrouter',
    'OpenRouter',
    'https://openrouter.ai/api/v1',
    'https://openrouter.ai/settings/keys',
    'https://openrouter.ai/docs/quickstart',
  ),
  hosted(
    'deepseek',
    'DeepSeek',
    'https://api.deepseek.com/v1',
    'https://platform.deepseek.com/api_keys',
    'https://api-docs.deepseek.com',
  ),
  hosted(
    'groq',
    'Groq',
    'https://api.groq.com/openai/v1',
    'https://console.groq.com/keys',
    'https://console.groq.com/docs/openai',
  ),
  hosted(
    'mistral',
    'Mistral',
    'https://api.mistral.ai/v1',
    'https://console.mistral.ai/api-keys',
    'https://docs.mistral.ai/api',
  ),
  hosted('xai', 'xAI', 'https://api.x.ai/v1', 'https://console.x.ai', 'https://docs.x.ai/docs/overview'),
  hosted(
    'moonshot',
    'Moonshot AI',
    'https://api.moonshot.ai/v1',
    'https://platform.moonshot.ai/console/api-keys',
    'https://platform.moonshot.ai/docs',
  ),
  hosted(
    'zhipu',
    'Z.ai',
    'https://api.z.ai/api/paas/v4',
    'https://z.ai/manage-apikey/apikey-list',
    'https://docs.z.ai/api-reference/introduction',
  ),
  hosted(
    'minimax',
    'MiniMax',
    'https://api.minimax.io/v1',
    'https://platform.minimax.io',
    'https://platform.minimax.io/docs/api-reference/text-openai-api',
  ),
  hosted(
    'cerebras',
    'Cerebras',
    'https://api.cerebras.ai/v1',
    'https://cloud.cerebras.ai',
    'https://inference-docs.cerebras.ai/introduction',
  ),
  preset({
    id: 'bedrock',
    title: 'Amazon Bedrock',
    kind: 'bedrock',
    auth: ['aws', 'aws_keys', 'api_key', ...['env', 'file']],
    setUp:
      'Allow bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream to the identity of this service, or create a Bedrock API key.',
    docs: 'https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html',
  }),
  preset({
    id: 'vertex',
    title: 'Google Vertex AI',
    kind: 'vertex',
    auth: ['google', 'google_key', 'api_key'],
    setUp: 'Give the role Vertex AI User to the identity of this service, or to a service account with a key.',
    docs: 'https://cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys',
  }),
  preset({
    id: 'azure',
    title: 'Microsoft Azure (Foundry)',
    kind: 'foundry',
    baseUrl: 'https://{resource}.services.ai.azure.com',
    fields: [
      {
        name: 'resource',
        label: 'Resource',
        description: 'The name of the resource at Azure: the first part of its endpoint.',
        example: 'my-resource',
      },
    ],
    auth: ['api_key', 'azure', 'azure_client'],
    setUp: 'Deploy the models in Microsoft Foundry and copy a key of the resource. Routes name deployments.',
    docs: 'https://learn.microsoft.com/en-us/azure/ai-foundry/',
  }),
  local(
    'ollama',
    'Ollama',
    11_434,
    'Run "ollama serve"; set OLLAMA_HOST=0.0.0.0 if it runs on another machine.',
    'https://docs.ollama.com/openai',
  ),
  local(
    'vllm',
    'vLLM',
    8_000,
    'Run "vllm serve MODEL"; with --api-key, give the same key here.',
    'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  ),
  local(
    'lm-studio',
    'LM Studio',
    1_234,
    'Run "lms server start"; turn on "Serve on local network" if it runs on another machine.',
    'https://lmstudio.ai/docs/developer/openai-compat',
  ),
  local(
    'llama-cpp',
    'llama.cpp',
    8_080,
    'Run "llama-server -m MODEL"; with --api-key, give the same key here.',
    'https://github.com/ggml-org/llama.cpp/tree/master/tools/server',
  ),
  local(
    'sglang',
    'SGLang',
    30_000,
    'Run "python -m sglang.launch_server --model-path MODEL"; with --api-key, give the same key here.',
    'https://docs.sglang.ai/basic_usage/openai_api.html',
  ),
  preset({
    id: 'chat-completions',
    title: 'Other provider of Chat Completions',
    kind: 'openai',
    baseUrl: '{url}',
    fields: [URL_FIELD],
    setUp: 'Find the base URL in its documentation: the address before /chat/completions.',
    docs: 'https://platform.openai.com/docs/api-reference/chat',
  }),
  preset({
    id: 'messages',
    title: 'Other provider of the Messages API',
    kind: 'anthropic',
    baseUrl: '{url}',
    fields: [{ ...URL_FIELD, example: 'https://api.example.com' }],
    setUp: 'Find the base URL in its documentation: the address before /v1/messages.',
    docs: 'https://platform.claude.com/docs/en/api/messages',
  }),
  preset({
    id: 'responses',
    title: 'Other provider of the Responses API',
    kind: 'openai-responses',
    baseUrl: '{url}',
    fields: [URL_FIELD],
    setUp: 'Find the base URL in its documentation: the address before /responses.',
    docs: 'https://www.openresponses.org',
  }),
  preset({
    id: 'sandbox',
    title: 'Sandbox',
    kind: SANDBOX_KIND,
    setUp: 'Nothing: this service simulates the answers.',
    docs: 'https://platform.claude.com/docs/en/api/messages',
  }),
];
