/** Where a listing shows its new events, as far as it has proved that. */
export type ListingOrder = 'unknown' | 'oldest-first' | 'newest-first'
