// Why a sign-in failed, in words.

import { ApiFailure, UNREACHABLE } from '../../api.ts';

export function signInFailureText(failure: unknown): string {
  if (!(failure instanceof ApiFailure)) return failure instanceof Error ? failure.message : String(failure);
  if (failure.code === 'unreachable') return UNREACHABLE;
  return failure.status === 429 ? throttledText(failure.retryAfterSeconds) : failure.message;
}

function throttledText(seconds: number | null): string {
  if (seconds === null) return 'Too many attempts. Try again later.';
  const wait = seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return `Too many attempts. Try again in ${wait}.`;
}
