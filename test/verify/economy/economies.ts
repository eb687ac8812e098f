// The two kinds of episodes: accounts that send messages, and a company whose people also call the API.

import { directCompany } from './company/director.ts';
import { runCompanyEpisode } from './company/episode.ts';
import { type CompanyMove, describeCompanyMove } from './company/moves.ts';
import { makeDirector } from './director.ts';
import { inOrder } from './episode.ts';
import type { Economy } from './hole.ts';
import { describeMove, type Move } from './moves.ts';
import { runJudged } from './neighbours.ts';
import { shrink } from './shrink.ts';

const SHRINK_TRIES = 150;

export type Played = {
  finding: string | null;
  messages: number;
  hash: string;
} & ({ economy: 'messages'; moves: Move[] } | { economy: 'company'; moves: CompanyMove[] });

/** The episode of the seed; without `only`, seeds of both kinds take turns. */
export function playAny(seed: number, only: Economy | null): Played {
  const economy = only ?? (seed % 2 === 0 ? 'messages' : 'company');
  if (economy === 'messages') return { ...runJudged(makeDirector(seed)), economy };
  return { ...runCompanyEpisode(directCompany(seed)), economy };
}

/** The least moves that still break the same rule, in words, and what they break. */
export function shrinkPlayed(
  played: Played,
  isSame: (finding: string | null) => boolean,
): { moves: string[]; finding: string | null } {
  if (played.economy === 'messages') {
    const replay = (moves: readonly Move[]) => runJudged(inOrder(moves)).finding;
    const least = shrink(played.moves, (fewer) => isSame(replay(fewer)), SHRINK_TRIES);
    return { moves: least.map(describeMove), finding: replay(least) };
  }
  const replay = (moves: readonly CompanyMove[]) => runCompanyEpisode(moves).finding;
  const least = shrink(played.moves, (fewer) => isSame(replay(fewer)), SHRINK_TRIES);
  return { moves: least.map(describeCompanyMove), finding: replay(least) };
}
