//! Products larger than a device.
