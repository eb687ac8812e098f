// Errors of SCIM: the code of the service's table, and the keyword that RFC 7644, table 9, gives the fault.

import { type ErrorCode, TurnpikeError } from '../errors.ts';

export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

/** A 400, or the status of another code. */
export function scimFault(scimType: ScimType, message: string, code: ErrorCode = 'invalid_request'): TurnpikeError {
  return new TurnpikeError(code, message, { members: { scimType } });
}

const USUAL: Partial<Record<ErrorCode, ScimType>> = { invalid_json: 'invalidSyntax' };
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** The body of an error response (RFC 7644, section 3.12). */
export function scimErrorBody(error: TurnpikeError): string {
  const { members } = error.details;
  const scimType = members?.['scimType'] ?? USUAL[error.code];
  return JSON.stringify({
    schemas: [ERROR_SCHEMA],
    status: String(error.status),
    ...(scimType !== undefined && { scimType }),
    detail: error.message,
  });
}
