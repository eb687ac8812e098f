// Scripts: lines of a user's message that say what a sandbox model answers; docs/developer.md has the syntax. Only lines
// that begin with the mark are read, and a mistake in them is refused, so that no prompt is half a script.

import { bounds } from '../../config/config.ts';
import { isTooDeep, type JsonObject, type JsonValue, jsonObjects, parseExactly, textOf } from '../../wire/wire.ts';
import { refuseField } from '../lost-fields.ts';

export type ScriptedPart = { kind: 'text'; text: string } | ScriptedCall;

export interface ScriptedCall {
  kind: 'call';
  name: string;
  /** null: filled by the tool's schema. */
  input: JsonObject | null;
}

const MARK = 'sandbox-script:';

/** The parts of the next answer. null without a script, and after its last step: each turn since the script takes one. */
export function readStep(body: JsonObject): ScriptedPart[] | null {
  const messages = jsonObjects(body['messages']).filter(({ role }) => role !== 'system');
  const from = messages.findLastIndex(
    ({ role, content }) => role === 'user' && textsOf(content).some((text) => findLine(text, 0) >= 0),
  );
  const script = messages[from];
  if (script === undefined) return null;
  const roles = messages.slice(from).map(({ role }) => role);
  const turns = roles.filter((role, at) => role === 'user' && roles[at - 1] === 'assistant').length;
  return readSteps(textsOf(script['content']))[turns] ?? null;
}

function textsOf(content: JsonValue | undefined): string[] {
  if (typeof content === 'string') return [content];
  return jsonObjects(content).flatMap(({ type, text }) => (type === 'text' ? [textOf(text)] : []));
}

/** The next line that begins with the mark, or -1. */
function findLine(text: string, from: number): number {
  if (from === 0 && text.startsWith(MARK)) return 0;
  const at = text.indexOf(`\n${MARK}`, from);
  return at < 0 ? -1 : at + 1;
}

function readSteps(texts: readonly string[]): ScriptedPart[][] {
  const steps: ScriptedPart[][] = [];
  let characters = 0;
  for (const text of texts)
    for (let at = findLine(text, 0); at >= 0; ) {
      const newline = text.indexOf('\n', at);
      const end = newline < 0 ? text.length : newline;
      characters += end - at;
      if (characters > bounds.sandboxScriptCharactersMax)
        refuseScript(`the script has more than ${bounds.sandboxScriptCharactersMax} characters`);
      steps.push(...new Line(text.slice(at + MARK.length, end)).steps());
      at = findLine(text, end);
    }
  return steps;
}

const SHOWN_CHARACTERS_MAX = 40;

export function refuseScript(sentence: string): never {
  refuseField('sandbox-script', sentence);
}

class Line {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.trim();
  }

  steps(): ScriptedPart[][] {
    const steps: ScriptedPart[][] = [[]];
    do {
      const word = this.#take(/(?:call|say|then)(?![^\s"])/y);
      if (word === 'call') steps.at(-1)?.push(this.#call());
      else if (word === 'say') steps.at(-1)?.push(this.#say());
      else if (word === 'then' && steps.at(-1)?.length !== 0) steps.push([]);
      else this.#expected('call, say or then');
    } while (this.#at < this.#text.length);
    if (steps.at(-1)?.length === 0) this.#expected('call or say');
    return steps;
  }

  /** The match at the current place, if any; the place is then behind it and the spaces after it. */
  #take(token: RegExp): string | null {
    token.lastIndex = this.#at;
    const match = token.exec(this.#text)?.[0];
    if (match === undefined) return null;
    this.#at += match.length;
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
    return match;
  }

  #expected(what: string): never {
    const rest = this.#text.slice(this.#at, this.#at + SHOWN_CHARACTERS_MAX);
    refuseScript(`expected ${what} at ${rest === '' ? 'the end' : JSON.stringify(rest)}`);
  }

  #call(): ScriptedCall {
    const name = this.#take(/[^\s{]+/y) ?? this.#expected('the name of a tool');
    const from = this.#at;
    if (this.#text.charAt(from) !== '{') return { kind: 'call', name, input: null };
    this.#skipObject();
    const text = this.#text.slice(from, this.#at).trim();
    try {
      if (!isTooDeep(text, bounds.jsonDepthMax)) return { kind: 'call', name, input: parseExactly(text) as JsonObject };
    } catch {} // as too deep
    this.#at = from;
    return this.#expected('a valid JSON object');
  }

  #skipObject(): void {
    let depth = 0;
    do {
      const token = this.#take(/"(?:[^"\\]|\\.)*"|[^"{}]+|[{}]/y) ?? this.#expected('the end of the JSON object');
      depth += token === '{' ? 1 : token === '}' ? -1 : 0;
    } while (depth > 0);
  }

  /** A JSON string, or the rest of the line. */
  #say(): ScriptedPart {
    const quoted = this.#take(/"(?:[^"\\]|\\.)*"(?=\s|$)/y);
    const text = quoted === null ? this.#text.slice(this.#at) : null;
    if (text !== null) this.#at = this.#text.length;
    try {
      return { kind: 'text', text: text ?? JSON.parse(quoted as string) };
    } catch {
      return this.#expected('a JSON string without invalid escapes');
    }
  }
}
