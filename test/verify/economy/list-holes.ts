// Holes that attackers could use, each as the change that puts it back.

import { companyHoles } from './company/list-holes.ts';
import { type Hole, holesIn } from './hole.ts';

const ofUsage = [
  ...holesIn('src/usage/count-message.ts', [
    [
      'tools-forgotten',
      'a stream in which server tools work is read to its end',
      'if (this.#hasServerWork || ',
      'if (',
    ],
    [
      'thinking-forgotten',
      'a stream that may hide thinking is read to its end',
      'return mayHide && !(isCounted && this.#contentSeen);',
      'return false;',
    ],
    [
      'early-thinking-forgotten',
      'thinking before the first content is hidden, even where counts come with events',
      'return mayHide && !(isCounted && this.#contentSeen);',
      'return mayHide && !isCounted;',
    ],
    [
      'unseen-tools-forgotten',
      'a stream with server tools is read to its end, whether they were seen to work or not',
      'this.#hasServerWork = hasServerTools;',
      'this.#hasServerWork = hasServerTools && elapsedMs === sinceStart;',
    ],
    [
      'running-counts-forgotten',
      'counts that came with events are billed',
      'this.#isCountedAsItGoes = this.#takeUsage(usage).output !== null || this.#isCountedAsItGoes;',
      'this.#isCountedAsItGoes = true;',
    ],
    [
      'prompt-by-bytes',
      'a prompt that the provider did not count is counted',
      'countedPrompt: made.prompt,',
      'countedPrompt: made.prompt && Math.ceil(made.prompt / 2),',
    ],
    [
      'output-by-bytes',
      'output that the provider did not count is counted',
      'countedOutput: made.output === null ? null : this.#countedTokens(made.output, outputTokensMax),',
      'countedOutput: made.output === null ? null : this.#output.billedTokens(outputTokensMax),',
    ],
  ]),
  ...holesIn('src/usage/merge-usage.ts', [
    [
      'counts-fall',
      'a count that falls lowers no bill',
      'output: largest(before.output, after.output),\n    thinking',
      'output: after.output ?? before.output,\n    thinking',
    ],
    [
      'prompts-fall',
      'a prompt that falls lowers no bill',
      'const sum = Math.max(tokensOf(before), tokensOf(later));',
      'const sum = tokensOf(later);',
    ],
  ]),
  ...holesIn('src/usage/read-usage.ts', [
    [
      'summaries-unbounded',
      'the summaries of a message have no more tokens than a message may have',
      'if (sum === null || allTokens(sum) <= bounds.usageTokensMax) return sum;',
      'return sum;',
    ],
  ]),
  ...holesIn('src/usage/measure-documents.ts', [
    [
      'files-by-pages',
      'a PDF file is held for by the text in it',
      'most: textTokensMax + pages * page.most,',
      'most: pages * page.typical,',
    ],
  ]),
];

const ofGateway = [
  ...holesIn('src/gateway/plan-message.ts', [
    [
      'fetches-unbounded',
      'what server tools add to the prompt is held for',
      'const added = fetchedTokensMax(features);',
      "const added = 0 * fetchedTokensMax({ ...features, serverTools: 'none' });",
    ],
  ]),
  ...holesIn('src/gateway/open-message.ts', [
    [
      'unusable-again',
      'an answer that the model spoils is tried at no other route',
      'return this.#stopReason !== null || this.#isUnusable;',
      'return this.#stopReason !== null;',
    ],
    [
      'unusable-free',
      'an answer that the model spoils is billed',
      'this.#isUnusable = true;\n    this.#current',
      'this.#isUnusable = fault === null;\n    this.#current',
    ],
    [
      'revoked-free',
      'a message whose key is revoked goes on for its bill',
      "if (reason === 'revoked' && !isBegun && this.#attempt !== null) {",
      "if (reason === 'revoked' && !isBegun && this.#attempt === null) {",
    ],
    [
      'slots-by-leaving',
      'a slot is freed when the upstream has ended',
      'this.#gateway.running.addUnattended(this);',
      "this.#gateway.running.addUnattended(this);\n    void this.#gateway.ledger.leave({ kind: 'leave', requestId: this.requestId }, this.admitted.caller.account.id, this.admitted.caller.key.id, this.admitted.offer.group.name);",
    ],
  ]),
];

const ofLedger = [
  ...holesIn('src/ledger/idempotency.ts', [
    [
      'spoiled-reversed',
      'the charge of an answer that the model spoiled is not reversed',
      "new Set(['client_gone', 'quota_cut', 'failed']);",
      "new Set(['client_gone', 'quota_cut']);",
    ],
  ]),
  ...holesIn('src/ledger/plan.ts', [
    [
      'windows-forgotten',
      'windows survive a change of plans',
      'return { used: startMs === last.startMs ? last.used : 0, startMs, anchorMs: last.anchorMs };',
      'return { used: 0, startMs, anchorMs: last.anchorMs };',
    ],
  ]),
  ...holesIn('src/ledger/admit.ts', [
    [
      'replays-unlimited',
      'replays take from the rates',
      "if (claim !== undefined && 'ok' in claim) return refuseClaimed(rows, operation, meters, claim);",
      "if (claim !== undefined && 'ok' in claim) return { answer: claim };",
    ],
  ]),
  ...holesIn('test/support/memory-store/co-committed.ts', [
    [
      'answers-unshared',
      'the responses of others are not dropped for those of one account',
      'loads.sort((one, other) => other.bytesPerUsd - one.bytesPerUsd || one.account - other.account);\n  return loads[0]?.rows[0] as OwnedAnswer;',
      'return [...answers.values()][0 * loads.length] as OwnedAnswer;',
    ],
  ]),
];

const ofPayments = [
  ...holesIn('src/payments/settle-payment.ts', [
    [
      'bonus-kept',
      'the bonus of a payment is taken back with it',
      'bonusCredited: bonusLeft(payment.bonus, payment.amount, credited)',
      'bonusCredited: Math.max(payment.bonusCredited ?? 0, bonusLeft(payment.bonus, payment.amount, credited))',
    ],
    [
      'disputes-forgotten',
      'a dispute takes its part of the credit back',
      'Math.min(totalCents, refundedCents + disputedCents)',
      'Math.min(totalCents, refundedCents + 0 * disputedCents)',
    ],
  ]),
  ...holesIn('src/ledger/meters.ts', [
    [
      'debts-forgotten',
      'nothing is available while more is owed than is left',
      'return account.balance + account.creditLine - account.held - account.debt;',
      'return account.balance + account.creditLine - account.held;',
    ],
  ]),
];

export const listHoles: readonly Hole[] = [...ofUsage, ...ofGateway, ...ofLedger, ...ofPayments, ...companyHoles];
