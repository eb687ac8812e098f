// The lines of results, in the form of the API that the batch was made with.

import { formatId } from '../base/ids.ts';
import type { Batch } from './batch.ts';

/** The answer to a request of a batch. */
export interface ItemAnswer {
  requestId: string;
  status: number;
  /** JSON, in the client's protocol. */
  body: string;
}

/** https://platform.claude.com/docs/en/build-with-claude/batch-processing and https://developers.openai.com/api/docs/guides/batch (2026-11-30). */
export function resultLine(
  batch: Pick<Batch, 'id' | 'form'>,
  position: number,
  customId: string,
  answer: ItemAnswer,
): string {
  const custom_id = JSON.stringify(customId);
  const { status, body, requestId } = answer;
  if (batch.form === 'messages') {
    const result = isSuccess(answer) ? `"succeeded","message":${body}` : `"errored","error":${body}`;
    return `{"custom_id":${custom_id},"result":{"type":${result}}}`;
  }
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${body}}`;
  return `{"id":${lineId(batch, position)},"custom_id":${custom_id},"response":${response},"error":null}`;
}

const WHY_NO_ANSWER = {
  canceled: ['batch_cancelled', 'The batch was cancelled before this request was sent.'],
  expired: ['batch_expired', 'This request could not be executed before the completion window expired.'],
  unreadable: ['result_unreadable', 'The stored result of this request can no longer be read.'],
} as const;

/** The line of a request that was not sent, or whose answer is lost. */
export function noAnswerLine(
  batch: Pick<Batch, 'id' | 'form'>,
  position: number,
  customId: string,
  why: keyof typeof WHY_NO_ANSWER,
): string {
  const custom_id = JSON.stringify(customId);
  const [code, message] = WHY_NO_ANSWER[why];
  if (batch.form === 'messages') {
    if (why !== 'unreadable') return `{"custom_id":${custom_id},"result":{"type":"${why}"}}`;
    const error = JSON.stringify({ type: 'error', error: { type: 'api_error', code, message } });
    return `{"custom_id":${custom_id},"result":{"type":"errored","error":${error}}}`;
  }
  const error = JSON.stringify({ code, message });
  return `{"id":${lineId(batch, position)},"custom_id":${custom_id},"response":null,"error":${error}}`;
}

export function isSuccess({ status }: ItemAnswer): boolean {
  return status === 200;
}

function lineId({ id }: Pick<Batch, 'id'>, position: number): string {
  return JSON.stringify(`batch_req_${formatId('msgbatch', id).slice('msgbatch_'.length)}_${position}`);
}
