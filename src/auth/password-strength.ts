// Refuses passwords that are easy to guess: common ones, simple patterns, and words of the person and the installation,
// as NIST SP 800-63B-4 (https://pages.nist.gov/800-63-4/sp800-63b.html, 3.1.1.2) asks. There are no rules of composition.

import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { bounds } from '../config/config.ts';
import type { ChosenPassword } from '../sign-in/sign-in.ts';

const BETTER = 'use several unrelated words, or let a password manager create one';
const FAULTS = {
  own: `must not be derived from your name, your email address or the name of this installation: ${BETTER}`,
  common: `must not be a common password or a variation of one: ${BETTER}`,
  pattern: `must not be a repetition, a sequence, a date or a keyboard pattern: ${BETTER}`,
  short: `must not be that easy to guess: ${BETTER}`,
} as const;

let loading: Promise<ZxcvbnFactory> | null = null;

/** Loaded with the first password: the lists take 40 MB. */
function loadEstimator(): Promise<ZxcvbnFactory> {
  loading ??= (async () => {
    const [{ ZxcvbnFactory: Estimator }, { dictionary, adjacencyGraphs: graphs }] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
    ]);
    return new Estimator({ dictionary, graphs, maxLength: bounds.passwordCharactersEstimated });
  })();
  return loading;
}

/** The end of a sentence about the password; null: it may be used. */
export async function findPasswordFault(chosen: ChosenPassword): Promise<string | null> {
  const estimator = await loadEstimator();
  const words = ownWords(chosen);
  const password = chosen.password.normalize('NFC');
  const isWeak = ({ guesses }: { guesses: number }) => guesses < bounds.passwordStrengthGuessesLeast;
  const estimate = estimator.check(password, words);
  const rest = withoutWords(password, words);
  if (!isWeak(estimate)) return rest === password || !isWeak(estimator.check(rest)) ? null : FAULTS.own;
  const { sequence } = estimate;
  const isOf = (name: string) => sequence.some(({ dictionaryName }) => dictionaryName === name);
  if (isOf('userInputs')) return FAULTS.own;
  if (isOf('passwords-common')) return FAULTS.common;
  return sequence.some(({ pattern }) => !['bruteforce', 'dictionary', 'separator'].includes(pattern))
    ? FAULTS.pattern
    : FAULTS.short;
}

/** Several of them in a row look strong to the estimator, which does not know that they are of one person. */
function withoutWords(password: string, words: readonly string[]): string {
  const longestFirst = words.map((word) => word.toLowerCase()).sort((one, other) => other.length - one.length);
  const rest = longestFirst.reduce((left, word) => left.replaceAll(word, ''), password.toLowerCase());
  return rest.length === password.length ? password : rest;
}

const WORD_CHARACTERS_LEAST = 3;

/** Whole and in parts: "Ada Lovelace" is also "adalovelace", "ada" and "lovelace". */
function ownWords({ email, name, installation }: ChosenPassword): string[] {
  const [local = '', domain = ''] = email.split('@');
  const texts = [email, local, domain, name, installation, 'turnpike'].map((text) => text.normalize('NFC'));
  const parts = texts.flatMap((text) => text.split(/[^\p{L}\p{N}]+/u));
  const joined = texts.map((text) => text.replaceAll(/[^\p{L}\p{N}]/gu, ''));
  const words = new Set([...texts, ...joined, ...parts].filter(({ length }) => length >= WORD_CHARACTERS_LEAST));
  return [...words].slice(0, bounds.passwordOwnWordsMax);
}
