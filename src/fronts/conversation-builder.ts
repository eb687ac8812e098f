// Builds the conversation of a message: one user turn, tool results first, between two assistant turns.

import { type Placed, remind, textBlock } from '../protocols/placed.ts';
import type { JsonObject } from '../wire/wire.ts';
import type { Origins } from './origins.ts';

export interface Conversation {
  system: Placed[];
  messages: JsonObject[];
  origins: Origins['messages'];
}

// Messages conversations begin with the user; those of other protocols need not.
const BEGINNING = '(The assistant begins.)';

/** Everything before the assistant's next message. */
interface Turn {
  path: string;
  /** There was a user or tool message, possibly empty. */
  isBegun: boolean;
  results: Placed[];
  said: Placed[];
  /** System messages in the middle of the conversation. */
  reminders: Placed[];
}

export class ConversationBuilder {
  readonly #conversation: Conversation = { system: [], messages: [], origins: [] };
  #turn: Turn | null = null;

  addSystem(blocks: readonly Placed[], path: string): void {
    const { system, messages } = this.#conversation;
    if (this.#turn === null && messages.length === 0) system.push(...blocks);
    else this.#open(path).reminders.push(...blocks);
  }

  addUser(blocks: readonly Placed[], path: string): void {
    const turn = this.#open(path);
    turn.isBegun = true;
    turn.said.push(...blocks);
  }

  addResult(result: Placed, path: string): void {
    const turn = this.#open(path);
    turn.isBegun = true;
    turn.results.push(result);
  }

  /** An empty message is left out. */
  addAssistant(blocks: readonly Placed[], path: string): void {
    if (blocks.length === 0) return;
    if (this.#turn !== null) this.#close(this.#turn);
    else if (this.#conversation.messages.length === 0) this.#say('user', textBlock(BEGINNING, path), path);
    this.#say('assistant', blocks, path);
  }

  finish(): Conversation {
    if (this.#turn !== null) this.#close(this.#turn);
    if (this.#conversation.messages.length === 0) this.#sayLastSystem();
    return this.#conversation;
  }

  #open(path: string): Turn {
    this.#turn ??= { path, isBegun: false, results: [], said: [], reminders: [] };
    return this.#turn;
  }

  /** Mid-conversation system text follows the user's text; without any, it becomes the user's text. */
  #close({ path, isBegun, results, said, reminders }: Turn): void {
    this.#turn = null;
    if (isBegun) this.#say('user', [...results, ...said], path);
    if (reminders.length === 0) return;
    if (isBegun) this.#say('system', reminders, reminders[0]?.path ?? path);
    else this.#say('user', reminders.map(remind), path);
  }

  #say(role: string, blocks: readonly Placed[], path: string): void {
    this.#conversation.messages.push({ role, content: blocks.map(({ block }) => block) });
    this.#conversation.origins.push({ path, blocks: blocks.map((placed) => placed.path) });
  }

  /** With system messages only, the last one becomes the user's message. */
  #sayLastSystem(): void {
    const last = this.#conversation.system.pop();
    if (last !== undefined) this.#say('user', [last], last.path);
  }
}
