// The models of the sandbox and what each of them does; contract.md, "Sandbox models", is their source.

export interface SandboxModel {
  answers: 'echo' | 'lorem' | 'tool' | 'thinking';
  firstByteAfterMs: number;
  /** The answer breaks off after half of its text. */
  isCut: boolean;
  /** Answers with an error of this status instead. */
  errorStatus: number | null;
}

const ERROR_STATUSES = [400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 529];
const ECHO: SandboxModel = { answers: 'echo', firstByteAfterMs: 0, isCut: false, errorStatus: null };

/** By the model's name at the provider, which alone decides what is answered. */
export const sandboxModels: ReadonlyMap<string, SandboxModel> = new Map<string, SandboxModel>([
  ['sandbox-echo', ECHO],
  ['sandbox-lorem', { ...ECHO, answers: 'lorem' }],
  ['sandbox-tool', { ...ECHO, answers: 'tool' }],
  ['sandbox-thinking', { ...ECHO, answers: 'thinking' }],
  ['sandbox-cut', { ...ECHO, isCut: true }],
  ['sandbox-slow', { ...ECHO, firstByteAfterMs: 5_000 }],
  ...ERROR_STATUSES.map((status): [string, SandboxModel] => [
    `sandbox-error-${status}`,
    { ...ECHO, errorStatus: status },
  ]),
]);

/** All models that a provider of kind `sandbox` has. */
export const sandboxModelNames: readonly string[] = [...sandboxModels.keys()];
