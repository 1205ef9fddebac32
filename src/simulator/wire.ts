/** The shapes of the API on the wire. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** One entry of an event-log page. The generator writes `timestamp` in ms by default. */
export interface WireEntry {
  readonly logId: string
  readonly timestamp: number
  readonly log: string | { readonly [key: string]: Json } | null
  readonly labels: { readonly [name: string]: string }
}

export interface WireError {
  readonly success: boolean
  readonly message: string | null
  readonly errorKey: string | null
}

export interface FieldFault {
  readonly field: string
  readonly message: string
}

export interface RateLimitRule {
  readonly id: number
  readonly shieldZoneId: number
  readonly userId: string | null
  readonly ruleName: string | null
  readonly ruleDescription: string | null
  readonly ruleJson: string | null
  readonly ruleConfiguration: { readonly [key: string]: Json } | null
  readonly errorResponse: (WireError & { readonly statusCode: number }) | null
}

export interface VolumeInstance {
  readonly id: string
  readonly attachedPods: readonly string[]
  readonly attachedContainers: readonly string[]
  readonly region: string
  readonly size: number
  readonly usage: number
  readonly set: string
}

export interface VolumeTemplate {
  readonly name: string
  readonly id: string
  readonly size: number
  readonly totalUsage: number
  readonly totalInstancesCount: number
  readonly attachedInstancesCount: number
  readonly containersCount: number
  readonly volumeInstances: readonly VolumeInstance[]
}
