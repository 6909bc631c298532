/** The functions that are no handler's, and with what they are deployed. */
export const OWN_FUNCTIONS = {
  /** Longer than the 125 s for which one run goes on. */
  dispatcher: { timeoutSeconds: 150, memoryMb: 256 },
  'dlq-mirror': { timeoutSeconds: 60, memoryMb: 256 },
  /** The gateway before it gives up after 30 s. */
  api: { timeoutSeconds: 29, memoryMb: 256 },
  /** As long as Lambda lets a function run; longer migrations are made from the command line first. */
  migrate: { timeoutSeconds: 900, memoryMb: 256 },
  registry: { timeoutSeconds: 900, memoryMb: 256 },
} as const;

export type OwnFunction = keyof typeof OWN_FUNCTIONS;
