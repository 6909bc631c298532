import { randomUUID } from 'node:crypto';
import { Poller, type PollerOptions } from './poller.ts';
import type { MappingSpec } from './specs.ts';

export type MappingState = 'Enabling' | 'Enabled' | 'Disabling' | 'Disabled' | 'Updating';

export interface MappingChange {
  enabled?: boolean;
  batchSize?: number;
  windowSeconds?: number;
  maximumConcurrency?: number;
}

/** An event source mapping: settings that can change while it runs, and its poller. */
export class Mapping {
  readonly uuid = randomUUID();
  readonly #poller: Poller;
  #spec: MappingSpec;
  #state: MappingState = 'Disabled';
  lastModified = new Date();

  constructor(spec: MappingSpec, options: Omit<PollerOptions, 'settings'>) {
    this.#spec = spec;
    this.#poller = new Poller({ ...options, settings: () => this.#spec });
    if (spec.enabled !== false) this.#start();
  }

  get spec(): MappingSpec {
    return this.#spec;
  }

  get state(): MappingState {
    return this.#state;
  }

  /** Returns the state on the way; as on AWS the change is done some time later. */
  update({ enabled, ...settings }: MappingChange): MappingState {
    this.#spec = { ...this.#spec, ...settings };
    this.lastModified = new Date();
    const on = this.#state === 'Enabled';
    if (enabled === undefined || enabled === on) return on ? 'Updating' : this.#state;
    if (enabled) this.#start();
    else void this.stop();
    return enabled ? 'Enabling' : 'Disabling';
  }

  /** Asks for no more messages; resolves when the batches at work are done. */
  async stop(): Promise<void> {
    this.#state = 'Disabling';
    await this.#poller.stop();
    if (this.#state === 'Disabling') this.#state = 'Disabled';
  }

  #start(): void {
    this.#poller.start();
    this.#state = 'Enabled';
  }
}
