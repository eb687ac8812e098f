// Every front that serves messages. A new one is added here, and is covered by all tests of this folder.

import type { FrontDriver } from '../front-driver.ts';
import { chatCompletions } from './chat-completions.ts';
import { completions } from './completions.ts';
import { generateContent } from './generate-content.ts';
import { responses } from './responses.ts';

/** By name, for `describe.each`. */
export const fronts: readonly [name: string, front: FrontDriver][] = [
  chatCompletions,
  completions,
  generateContent,
  responses,
].map((front) => [front.name, front]);
