"""Decisions on partitions: leaders, ISR, replicas."""
