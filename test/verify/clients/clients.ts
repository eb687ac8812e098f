// The clients that are run unmodified against the service, each with its own small program in test/verify/clients/programs/.
// No tests of its own.

import { join } from 'node:path';

export const programsDirectory = join(import.meta.dir, 'programs');

/** Requirements that must be installed before a client can run. */
export type Need =
  | 'node'
  | 'packages'
  | 'packages-extra'
  | 'python'
  | 'python-extra'
  | 'chromium'
  | 'curl'
  | 'go'
  | 'java'
  | 'rust';

export interface Client {
  name: string;
  needs: Need;
  /** Its heading in docs/clients.md. */
  heading: string;
  /** File in test/verify/clients/programs/, with the code that the page shows. */
  program: string;
  command: readonly string[];
  /** Error classes that it throws: without balance, without the model, without a key. */
  faults: readonly [string, string, string];
  /** Conversations that it does not support; with `all`, it holds those that name it. */
  without: readonly string[] | 'all';
  /** Runs with --all only: its requirements take minutes to install, or a sibling that changes more often shares its protocol. */
  isExtra?: true;
}

const python = join(programsDirectory, '.venv/bin/python');
const pythonOfExtra = join(programsDirectory, 'extra/.venv/bin/python');
const goProgram = join(programsDirectory, 'go/.built/program');
const sdkFaults = ['BadRequestError', 'BadRequestError', 'AuthenticationError'] as const;

export const clients: readonly Client[] = [
  {
    name: 'anthropic-sdk',
    needs: 'packages',
    heading: 'The official SDK for TypeScript',
    program: 'anthropic-sdk.mjs',
    command: ['node', 'anthropic-sdk.mjs'],
    faults: sdkFaults,
    without: [],
  },
  {
    name: 'anthropic-sdk-0',
    needs: 'packages',
    heading: 'The official SDK for TypeScript',
    program: 'anthropic-sdk-0.mjs',
    command: ['node', 'anthropic-sdk-0.mjs'],
    faults: sdkFaults,
    without: [],
    isExtra: true,
  },
  {
    name: 'anthropic-python',
    needs: 'python',
    heading: 'The official SDK for Python',
    program: 'anthropic-sdk.py',
    command: [python, 'anthropic-sdk.py'],
    faults: sdkFaults,
    without: [],
  },
  {
    name: 'anthropic-python-async',
    needs: 'python',
    heading: 'The official SDK for Python',
    program: 'anthropic-sdk-async.py',
    command: [python, 'anthropic-sdk-async.py'],
    faults: sdkFaults,
    without: [],
    isExtra: true,
  },
  {
    name: 'vercel-ai-sdk',
    needs: 'packages',
    heading: 'The Vercel AI SDK',
    program: 'vercel-ai-sdk.mjs',
    command: ['node', 'vercel-ai-sdk.mjs'],
    faults: ['APICallError', 'APICallError', 'APICallError'],
    without: ['count', 'models'],
  },
  {
    name: 'vercel-openai',
    needs: 'packages',
    heading: 'The Vercel AI SDK',
    program: 'vercel-openai.mjs',
    command: ['node', 'vercel-openai.mjs'],
    faults: ['APICallError', 'APICallError', 'APICallError'],
    without: ['count', 'models', 'caching', 'stop', 'tool-results'], // Its protocol has no words for the last three.
    isExtra: true,
  },
  {
    name: 'vercel-google',
    needs: 'packages',
    heading: 'The Vercel AI SDK',
    program: 'vercel-google.mjs',
    command: ['node', 'vercel-google.mjs'],
    faults: ['APICallError', 'APICallError', 'APICallError'],
    // It downloads linked images by itself, has no mark for caches, and tells the model of an error as text.
    without: ['count', 'models', 'images', 'caching', 'tool-results'],
    isExtra: true,
  },
  {
    name: 'agents-sdk',
    needs: 'packages',
    heading: 'OpenAI’s Agents SDKs',
    program: 'agents-sdk.mjs',
    command: ['node', 'agents-sdk.mjs'],
    faults: sdkFaults,
    without: ['count', 'models', 'caching', 'stop', 'tool-results', 'images', 'documents'], // Its program speaks in text.
  },
  {
    name: 'agents-python',
    needs: 'python',
    heading: 'OpenAI’s Agents SDKs',
    program: 'agents-sdk.py',
    command: [python, 'agents-sdk.py'],
    faults: sdkFaults,
    without: ['count', 'models', 'caching', 'stop', 'tool-results', 'images', 'documents'],
    isExtra: true,
  },
  {
    name: 'genai-sdk',
    needs: 'packages',
    heading: 'Google’s GenAI SDKs',
    program: 'genai-sdk.mjs',
    command: ['node', 'genai-sdk.mjs'],
    faults: ['ApiError', 'ApiError', 'ApiError'],
    without: ['caching', 'tool-results', 'retry', 'retry-fault'], // It retries only if it is configured to.
  },
  {
    name: 'genai-python',
    needs: 'python',
    heading: 'Google’s GenAI SDKs',
    program: 'genai-sdk.py',
    command: [python, 'genai-sdk.py'],
    faults: ['ClientError', 'ClientError', 'ClientError'],
    without: ['caching', 'tool-results', 'retry', 'retry-fault'],
  },
  {
    name: 'langchain',
    needs: 'packages',
    heading: 'LangChain',
    program: 'langchain.mjs',
    command: ['node', 'langchain.mjs'],
    faults: sdkFaults,
    without: ['count', 'models', 'tool-results'], // It does not mark a result as an error.
    isExtra: true,
  },
  {
    name: 'openai-sdk',
    needs: 'packages',
    heading: 'OpenAI’s SDKs',
    program: 'openai-sdk.mjs',
    command: ['node', 'openai-sdk.mjs'],
    faults: sdkFaults,
    without: ['count', 'tool-results'],
  },
  {
    name: 'openai-python',
    needs: 'python',
    heading: 'OpenAI’s SDKs',
    program: 'openai-sdk.py',
    command: [python, 'openai-sdk.py'],
    faults: sdkFaults,
    without: ['count', 'tool-results'],
  },
  {
    name: 'open-webui',
    needs: 'node',
    heading: 'Open WebUI',
    program: 'open-webui.sh',
    command: ['sh', 'open-webui.sh'],
    faults: ['refused', 'refused', 'refused'],
    without: ['count', 'caching', 'thinking', 'tool-results', 'retry', 'retry-fault'], // It never retries.
  },
  {
    name: 'mastra',
    needs: 'packages-extra',
    heading: 'Mastra',
    program: 'extra/mastra.mjs',
    command: ['node', 'extra/mastra.mjs'],
    faults: ['APICallError', 'APICallError', 'APICallError'],
    // It downloads linked images by itself, and asks for no counts in streams.
    without: ['count', 'models', 'images', 'stream', 'caching', 'thinking', 'tool-results', 'abort', 'cut'],
    isExtra: true,
  },
  {
    name: 'llama-index',
    needs: 'python-extra',
    heading: 'LlamaIndex',
    program: 'llama-index.py',
    command: [pythonOfExtra, 'llama-index.py'],
    faults: sdkFaults,
    without: ['count', 'models', 'caching', 'thinking', 'tool-results'],
    isExtra: true,
  },
  {
    name: 'haystack',
    needs: 'python-extra',
    heading: 'Haystack',
    program: 'haystack-ai.py',
    command: [pythonOfExtra, 'haystack-ai.py'],
    faults: sdkFaults,
    without: ['count', 'models', 'images', 'caching', 'thinking', 'tool-results'], // It downloads linked images by itself.
    isExtra: true,
  },
  {
    name: 'openai-go',
    needs: 'go',
    heading: 'OpenAI’s SDK for Go',
    program: 'go/openai/main.go',
    command: [join(programsDirectory, 'go/.built/openai')],
    faults: ['*apierror.Error', '*apierror.Error', '*apierror.Error'],
    without: ['count', 'caching', 'thinking', 'tool-results'],
    isExtra: true,
  },
  {
    name: 'openrouter-sdk',
    needs: 'packages',
    heading: 'OpenRouter’s SDK',
    program: 'openrouter-sdk.mjs',
    command: ['node', 'openrouter-sdk.mjs'],
    faults: ['ResponseValidationError', 'ResponseValidationError', 'ResponseValidationError'], // Its errors have codes that are numbers.
    // Its list is that of OpenRouter’s catalog, it has no budget of thinking, and it retries only 5xx.
    without: ['count', 'models', 'tool-results', 'thinking', 'retry'],
  },
  {
    name: 'cohere-sdk',
    needs: 'packages',
    heading: 'Cohere’s SDK',
    program: 'cohere-sdk.mjs',
    command: ['node', 'cohere-sdk.mjs'],
    faults: ['', '', ''],
    without: 'all',
  },
  {
    name: 'cursor',
    needs: 'node',
    heading: 'Cursor',
    program: 'cursor.mjs',
    command: ['node', 'cursor.mjs'],
    faults: ['refused', 'refused', 'refused'],
    without: [
      'count',
      'documents',
      'caching',
      'structured',
      'stop',
      'thinking',
      'tool-results',
      'retry',
      'retry-fault',
    ],
  },
  {
    name: 'dspy',
    needs: 'python-extra',
    heading: 'DSPy',
    program: 'dspy-text.py',
    command: [pythonOfExtra, 'dspy-text.py'],
    faults: ['', '', ''],
    without: 'all',
    isExtra: true,
  },
  {
    name: 'async-openai',
    needs: 'rust',
    heading: 'async-openai',
    program: 'rust/main.rs',
    command: [join(programsDirectory, 'rust/.built/target/release/turnpike-clients')],
    faults: ['ApiError', 'ApiError', 'ApiError'],
    without: ['count', 'documents', 'caching', 'thinking', 'tool-results'],
    isExtra: true,
  },
  {
    name: 'anthropic-go',
    needs: 'go',
    heading: 'The official SDK for Go',
    program: 'go/main.go',
    command: [goProgram],
    faults: ['*apierror.Error', '*apierror.Error', '*apierror.Error'],
    without: [],
    isExtra: true,
  },
  {
    name: 'anthropic-java',
    needs: 'java',
    heading: 'The official SDK for Java',
    program: 'java/clients.java',
    command: ['java', '-cp', 'java/.built/*', 'java/clients.java'],
    faults: ['BadRequestException', 'BadRequestException', 'UnauthorizedException'],
    without: [],
    isExtra: true,
  },
  {
    name: 'browser',
    needs: 'chromium',
    heading: 'A page in a browser',
    program: 'browser-page.mjs',
    command: [process.execPath, 'browser.ts'],
    faults: sdkFaults,
    without: [],
  },
  {
    name: 'curl',
    needs: 'curl',
    heading: 'curl',
    program: 'curl.sh',
    command: ['sh', 'curl.sh'],
    faults: ['billing_error', 'not_found_error', 'authentication_error'],
    without: ['tools', 'streamed-tools', 'tool-results', 'thinking'],
  },
];

/** Suites of others that run with --all only, in test/verify/clients/every-suite.ts. */
export const suites: readonly { name: string; needs: Need }[] = [{ name: 'langchain-tests', needs: 'python-extra' }];
