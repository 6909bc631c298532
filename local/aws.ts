/** Of the emulators on this machine, which look at neither. */
export const REGION = 'us-east-1';
export const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' } as const;
