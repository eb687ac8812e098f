// Every conversation that clients hold in tests, in the order in which they hold them. No tests of its own.

import type { Conversation } from './conversation.ts';
import { abort, cut, refusals, retry, retryFault } from './failures.ts';
import {
  caching,
  completion,
  count,
  documents,
  drawing,
  editing,
  embeddings,
  files,
  hearing,
  images,
  long,
  models,
  speaking,
  stop,
  stream,
  structured,
  text,
} from './plain.ts';
import { streamedTools, thinking, toolResults, tools } from './turns.ts';

export const conversations: readonly Conversation[] = [
  text,
  stream,
  images,
  documents,
  tools,
  streamedTools,
  toolResults,
  thinking,
  caching,
  structured,
  stop,
  long,
  count,
  models,
  embeddings,
  files,
  drawing,
  editing,
  speaking,
  hearing,
  completion,
  abort,
  cut,
  retry,
  retryFault,
  refusals,
];
