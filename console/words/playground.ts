// The words of the playground.

export const playgroundWords = {
  model: 'Model',
} as const;
